// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string_view>
#include <vector>

namespace superstep::schema {

enum class kind { none, object, array, boolean, number, integer, string, null, other };

/// The schema inside a wrapper `{jsonSchema: S}`, or the schema itself.
[[nodiscard]] const json::value& unwrap(const json::value& schema) noexcept;
/// The one type that a value is bent to.
[[nodiscard]] kind kind_of(const json::value& schema) noexcept;
[[nodiscard]] bool allows_null(const json::value& schema) noexcept;
/// `additionalProperties: false`.
[[nodiscard]] bool is_closed(const json::value& schema) noexcept;
[[nodiscard]] const json::value* member(const json::value& schema, std::string_view name) noexcept;
[[nodiscard]] const json::object* properties(const json::value& schema) noexcept;
[[nodiscard]] bool is_scalar(kind k) noexcept;
/// The schemas of patternProperties whose pattern is found in `key`. Patterns that could cost a
/// backtracking engine exponential time are ignored, as by everybody else who reads the schema.
[[nodiscard]] std::vector<const json::value*> pattern_schemas(const json::value& schema,
                                                              std::string_view key);

} // namespace superstep::schema

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string_view>
#include <vector>

namespace superstep::schema {

enum class kind { none, object, array, boolean, number, integer, string, null, other };

/// Returns the schema S of a wrapper `{jsonSchema: S}`, or of several wrappers around each other; a
/// schema without wrapper is returned itself.
[[nodiscard]] const json::value& unwrap(const json::value& schema) noexcept;
/// Returns the type to which a value is converted. If the schema has several types, it is the first
/// of them in the order of `kind`. A schema without a type has the type that its keywords imply:
/// object for `properties`, array for `items`. `additionalProperties: false` alone implies none.
[[nodiscard]] kind kind_of(const json::value& schema) noexcept;
[[nodiscard]] bool allows_null(const json::value& schema) noexcept;
/// Whether the schema has `additionalProperties: false`.
[[nodiscard]] bool is_closed(const json::value& schema) noexcept;
[[nodiscard]] const json::value* member(const json::value& schema, std::string_view name) noexcept;
[[nodiscard]] const json::object* properties(const json::value& schema) noexcept;
/// Returns the properties of a schema of objects that forbids additional members; null for other
/// schemas.
[[nodiscard]] const json::object* closed_properties(const json::value& schema) noexcept;
/// Whether the schema is `false`, which matches no value.
[[nodiscard]] bool is_false(const json::value& schema) noexcept;
[[nodiscard]] bool is_scalar(kind k) noexcept;
/// Whether an object that matches the schema may have a member with this key. Follows anyOf, oneOf
/// and allOf.
[[nodiscard]] bool can_have(const json::value& schema, std::string_view key);
/// Returns the schemas in patternProperties whose pattern matches `key`. Patterns that could take a
/// backtracking engine exponential time are ignored, as in the AI SDK middleware.
[[nodiscard]] std::vector<const json::value*> pattern_schemas(const json::value& schema,
                                                              std::string_view key);

} // namespace superstep::schema

namespace superstep {

/// Whether a value matches the parts of its JSON Schema that the AI SDK tool middleware checks:
/// type, enum, const, required and additional members, items, allOf, anyOf and oneOf.
///
/// Bounds and formats are not checked, because a call that violates them must still be recognised
/// as a call. The tool node checks it against the complete schema (argument_schema) and reports
/// faults to the model. Values with more than 256 levels do not match.
[[nodiscard]] bool matches_schema(const json::value& v, const json::value& schema);

} // namespace superstep

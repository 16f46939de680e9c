// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string_view>

namespace superstep {

/// JSON as models write it: comments, one trailing comma, single quotes, bare words as strings.
/// Errors name the offset. Nesting is bounded as in parse_json(). Numbers are doubles, whole ones
/// come out as integers; a member named `__proto__` is dropped.
[[nodiscard]] result<json::value> parse_relaxed_json(std::string_view text);

/// Strict JSON as JavaScript reads it, which is what models are trained on: of a key that stands
/// twice the last value counts, and every number is a double (whole ones come out as integers).
[[nodiscard]] result<json::value> parse_lenient_json(std::string_view text);

} // namespace superstep

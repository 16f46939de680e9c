// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

namespace superstep {

/// Bends a value into the type its JSON Schema asks for, where it is clear what was meant: "5" for
/// a number, one item for a list, `snake_case` for a `camelCase` key. What cannot be bent is
/// returned as it is; coercion never fails and never drops a member.
/// @param schema null: none was given
[[nodiscard]] json::value coerce(json::value v, const json::value& schema);

} // namespace superstep

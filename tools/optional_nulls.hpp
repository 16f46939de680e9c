// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <optional>

namespace superstep::detail {

/// Returns the arguments without the nulls of members that count as absent: members that are not
/// required and whose schema forbids null, at any level. Returns nullopt if there are none. Follows
/// references inside the schema. Of alternatives (`anyOf`, `oneOf`) it follows the only one that is
/// not null. May be called from any thread.
/// @param schema a valid JSON Schema
[[nodiscard]] std::optional<json::object> without_optional_nulls(const json::value& schema,
                                                                 const json::object& arguments);

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <optional>
#include <string_view>

namespace superstep::hermes {

/// Where the value of a member of the outermost object begins, read with strings respected.
[[nodiscard]] std::optional<std::size_t> member_value_at(std::string_view body,
                                                         std::string_view key);

/// The `arguments` of a body whose JSON is broken: quotes and line ends in strings that were not
/// escaped, a brace too many. `schema` says which members there may be.
[[nodiscard]] std::optional<json::object> repair_arguments(std::string_view body,
                                                           const json::value& schema);

} // namespace superstep::hermes

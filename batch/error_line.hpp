// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace superstep::detail {

/// Returns an error text without the address of the model server with which it begins, for displays
/// with little room.
[[nodiscard]] std::string_view without_address(std::string_view text) noexcept;

} // namespace superstep::detail

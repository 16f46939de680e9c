// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace superstep::detail {

/// Returns an error text as one line of visible characters. A text that is too long is cut and ends
/// with `...`.
/// @param bytes_max size of the longest line, at least 3 bytes
[[nodiscard]] std::string error_line(std::string_view text, std::size_t bytes_max);

/// Returns an error text without the address of the model server with which it begins, for displays
/// with little room.
[[nodiscard]] std::string_view without_address(std::string_view text) noexcept;

} // namespace superstep::detail

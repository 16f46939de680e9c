// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace superstep {

/// Whether a text is valid UTF-8. Text that is written as JSON must be, or it cannot be read again.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// Returns the text with every byte that is not part of a valid UTF-8 sequence replaced by U+FFFD.
/// Applied to the output of programs and servers before it enters messages, and from there files.
[[nodiscard]] std::string valid_utf8(std::string text);

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace superstep {

/// Whether a text is valid UTF-8. Only valid text may be written as JSON, because other text cannot
/// be read again.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// Returns the text with each byte that is not part of a valid UTF-8 sequence replaced by U+FFFD.
/// The output of programs and servers passes through this function before it becomes part of a
/// message.
[[nodiscard]] std::string valid_utf8(std::string text);

} // namespace superstep

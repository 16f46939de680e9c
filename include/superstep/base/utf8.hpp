// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace superstep {

/// What is written as JSON must be UTF-8: a text that is not cannot be read again.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// The text with every byte that is no part of UTF-8 replaced by U+FFFD: what programs and servers
/// put out enters messages, and from there files that must stay readable.
[[nodiscard]] std::string valid_utf8(std::string text);

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace superstep {

/// Returns a text for a terminal or an error message in which invisible characters are shown as
/// `<U+202E>`. They could otherwise hide text or change how the rest is read. Invisible characters
/// are: control characters except tab and line feed, characters that set the writing direction,
/// line and paragraph separators, zero-width characters, fillers and tags. Bytes that are not UTF-8
/// become U+FFFD.
[[nodiscard]] std::string visible_text(std::string_view text);

/// Returns a text in the form of visible_text() as one line: spaces replace line breaks and tabs. A
/// text that is too long is cut between two characters and ends with `...`.
/// @param bytes_max size of the longest line, at least 3 bytes
[[nodiscard]] std::string one_line(std::string_view text, std::size_t bytes_max);

} // namespace superstep

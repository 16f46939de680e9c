// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace superstep {

/// Returns a text for a terminal or an error message, with invisible characters shown as
/// `<U+202E>`. These are: control characters except tab and line feed, characters that set the
/// writing direction, line and paragraph separators, zero-width characters, fillers and tags. They
/// could hide text or change how the rest is read. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string visible_text(std::string_view text);

} // namespace superstep

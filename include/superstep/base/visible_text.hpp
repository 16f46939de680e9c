// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace superstep {

/// Returns a text for a terminal or an error message with what would be invisible, or would change
/// how the rest is read, shown as `<U+202E>`: control characters other than tab and line end,
/// characters that set the direction of writing, line and paragraph separators, characters without
/// width, fillers and tags. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string visible_text(std::string_view text);

} // namespace superstep

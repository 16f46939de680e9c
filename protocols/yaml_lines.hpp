// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace superstep {

/// Whether a line is indented with a tab where indentation counts: the parser takes tabs for space.
[[nodiscard]] bool has_tab_indent(std::string_view yaml);

/// Whether brackets or dashes are nested beyond the bound. The parser counts them too late: it
/// reads ahead over all of them, at a cost that grows with the square of their number.
[[nodiscard]] bool is_too_deep(std::string_view yaml, std::size_t depth_max);

} // namespace superstep

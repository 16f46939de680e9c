// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace superstep {

/// Returns the text of elements whose end never came, without a tag that was cut before its
/// name could matter (`…<`, `…</bod`). Nothing: the text ends inside a tag, so that it is not known
/// what the model was writing (`…<bo`, or `…</body` of an open element).
/// @param is_inside whether the end of the text lies inside an element
[[nodiscard]] std::optional<std::string_view> without_cut_tag(std::string_view text,
                                                              bool is_inside);

} // namespace superstep

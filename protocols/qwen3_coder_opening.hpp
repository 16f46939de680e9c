// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/qwen3_coder_tag.hpp"

#include <cstddef>
#include <string_view>

namespace superstep::qwen3_coder {

// More white space than this between a call and a stray close tag is text.
inline constexpr auto stray_space_max = std::size_t{64};

/// Whether a block or a call that stands on its own begins at `at`. more: the text ends before that
/// can be told.
/// @param complete no more text will come
[[nodiscard]] reading opening_at(std::string_view all, std::size_t at, bool complete, tag& found);

/// Whether no call begins in it, not even at its end.
[[nodiscard]] bool is_plain(std::string_view piece);

} // namespace superstep::qwen3_coder

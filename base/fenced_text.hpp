// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace superstep {

/// Returns the text inside of a Markdown code block, if the text is one block; otherwise the text
/// itself. White space at both ends is removed. Many models without a mode for JSON write such
/// blocks.
[[nodiscard]] std::string_view without_fence(std::string_view text) noexcept;

} // namespace superstep

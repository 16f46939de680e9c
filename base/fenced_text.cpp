// SPDX-License-Identifier: Apache-2.0
// Finds the content of Markdown code blocks.
#include "base/fenced_text.hpp"

#include "base/ascii_text.hpp"

namespace superstep {

std::string_view without_fence(std::string_view text) noexcept {
  constexpr auto fence = std::string_view{"```"};
  const auto all = trimmed(text);
  if (!all.starts_with(fence) || !all.ends_with(fence) || all.size() < 2 * fence.size())
    return all;
  const auto inner = all.substr(0, all.size() - fence.size());
  const auto line = inner.find('\n');
  return line == inner.npos ? all : trimmed(inner.substr(line));
}

} // namespace superstep

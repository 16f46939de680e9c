// SPDX-License-Identifier: Apache-2.0
// Shortens error texts for the progress line and the summary of a job.
#include "error_line.hpp"

#include "base/visible_text.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>

namespace superstep::detail {

std::string error_line(std::string_view text, std::size_t bytes_max) {
  constexpr auto dots = std::string_view{"..."};
  SUPERSTEP_ASSERT(bytes_max >= dots.size());
  // Only the start is converted, because an error can contain a long answer of a server.
  auto line = std::string{text.substr(0, bytes_max + 1)};
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  line = visible_text(line);
  if (line.size() <= bytes_max && text.size() <= bytes_max)
    return line;
  auto end = std::min(line.size(), bytes_max - dots.size());
  const auto continues = [&line](std::size_t at) {
    return at < line.size() && (static_cast<unsigned char>(line[at]) & 0xC0U) == 0x80U;
  };
  while (end > 0 && (continues(end) || line[end - 1] == ' '))
    --end;
  return line.substr(0, end) + std::string{dots};
}

std::string_view without_address(std::string_view text) noexcept {
  if (!text.starts_with("POST ") && !text.starts_with("http://") && !text.starts_with("https://"))
    return text;
  const auto end = text.find(": ");
  return end == text.npos ? text : text.substr(end + 2);
}

} // namespace superstep::detail

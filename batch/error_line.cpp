// SPDX-License-Identifier: Apache-2.0
// Shortens error texts for the progress line and the summary of a job.
#include "error_line.hpp"

#include "base/utf8.hpp"
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
  line.resize(utf8_prefix(line, bytes_max - dots.size()).size());
  line.resize(line.find_last_not_of(' ') + 1);
  return line.append(dots);
}

std::string_view without_address(std::string_view text) noexcept {
  if (!text.starts_with("POST ") && !text.starts_with("http://") && !text.starts_with("https://"))
    return text;
  const auto end = text.find(": ");
  return end == text.npos ? text : text.substr(end + 2);
}

} // namespace superstep::detail

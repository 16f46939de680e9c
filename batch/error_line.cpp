// SPDX-License-Identifier: Apache-2.0
// Shortens error texts for the progress line of a job.
#include "error_line.hpp"

namespace superstep::detail {

std::string_view without_address(std::string_view text) noexcept {
  if (!text.starts_with("POST ") && !text.starts_with("http://") && !text.starts_with("https://"))
    return text;
  const auto end = text.find(": ");
  return end == text.npos ? text : text.substr(end + 2);
}

} // namespace superstep::detail

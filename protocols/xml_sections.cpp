// SPDX-License-Identifier: Apache-2.0
#include "protocols/xml_sections.hpp"

namespace superstep {

std::size_t xml_sections::end_of(std::size_t at) noexcept {
  const auto rest = text_.substr(at, data_open.size());
  if (rest == data_open) {
    const auto begin = at + data_open.size();
    const auto end = has_data_end_ ? text_.find(data_close, begin) : text_.npos;
    if (end != text_.npos)
      return end + data_close.size();
    has_data_end_ = false;
    const auto bracket = text_.find('>', begin);
    return bracket == text_.npos ? text_.size() : bracket + 1;
  }
  if (!rest.starts_with(comment_open) || !has_comment_end_)
    return at;
  const auto end = text_.find(comment_close, at + comment_open.size());
  has_comment_end_ = end != text_.npos;
  return has_comment_end_ ? end + comment_close.size() : at;
}

} // namespace superstep

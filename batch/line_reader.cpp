// SPDX-License-Identifier: Apache-2.0
// Reads a file line by line or record by record. The memory is bounded: of a line that is too long,
// only the beginning is kept.
#include "line_reader.hpp"

#include <algorithm>

namespace superstep::detail {
namespace {
constexpr auto block_size = std::size_t{256} << 10U;
constexpr auto excerpt_size = std::size_t{80};
} // namespace

line_reader::line_reader(const file& from, std::size_t line_bytes_max, const reading_range& range)
    : file_{from}, line_bytes_max_{line_bytes_max}, buffer_at_{range.offset}, end_{range.end},
      lines_{range.lines_before}, records_{range.separator} {}

result<bool> line_reader::fill() {
  buffer_.erase(0, begin_);
  buffer_at_ += begin_;
  begin_ = 0;
  const auto at = buffer_at_ + buffer_.size();
  const auto size = std::min<std::uint64_t>(block_size, end_ > at ? end_ - at : 0);
  auto read = file_.read_at(at, static_cast<std::size_t>(size), block_);
  if (!read)
    return read.error();
  if (see_ && !block_.empty())
    see_(block_);
  buffer_ += block_;
  return !block_.empty();
}

result<std::optional<text_line>> line_reader::next() {
  auto searched = begin_; // the bytes before this position contain no newline
  while (true) {
    auto newline = records_.find(buffer_, searched);
    const auto is_last = newline == std::string::npos;
    if (!is_last || buffer_.size() - begin_ > line_bytes_max_) {
      auto line = text_line{};
      line.size = (is_last ? buffer_.size() : newline) - begin_;
      line.text = std::string_view{buffer_}.substr(begin_, line.size);
      line.number = ++lines_;
      line.offset = buffer_at_ + begin_;
      if (is_last) {
        auto skipped = skip_long_line(line);
        if (!skipped)
          return skipped.error();
        return *skipped;
      }
      lines_ += records_.take_breaks();
      begin_ = newline + 1;
      line.is_too_long = line.size > line_bytes_max_;
      return line;
    }
    searched = buffer_.size() - begin_; // fill() moves the line to the start of the buffer
    auto more = fill();
    if (!more)
      return more.error();
    if (!*more)
      break;
  }
  if (begin_ == buffer_.size())
    return std::optional<text_line>{};
  auto line = text_line{};
  line.text = std::string_view{buffer_}.substr(begin_);
  line.size = line.text.size();
  line.number = ++lines_;
  line.offset = buffer_at_ + begin_;
  line.is_complete = false;
  begin_ = buffer_.size();
  return line;
}

// Skips a line that is too long, block by block. Its beginning is kept for the error text.
result<text_line> line_reader::skip_long_line(text_line line) {
  const auto excerpt = std::string{line.text.substr(0, excerpt_size)};
  line.is_too_long = true;
  begin_ = buffer_.size();
  while (true) {
    auto more = fill();
    if (!more)
      return more.error();
    auto newline = records_.find(buffer_, 0);
    line.size += newline == std::string::npos ? buffer_.size() : newline;
    line.is_complete = newline != std::string::npos;
    begin_ = line.is_complete ? newline + 1 : buffer_.size();
    if (line.is_complete || !*more)
      break;
  }
  lines_ += records_.take_breaks();
  block_ = excerpt; // owns the returned text; fill() does not need block_ before the next call
  line.text = block_;
  return line;
}

} // namespace superstep::detail

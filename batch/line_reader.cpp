// SPDX-License-Identifier: Apache-2.0
// Reads a file line by line or record by record. The memory is bounded: of a line that is too long,
// only the beginning is kept.
#include "line_reader.hpp"

#include "input_file.hpp"

#include <algorithm>
#include <utility>

namespace superstep::detail {
namespace {
constexpr auto block_size = std::size_t{256} << 10U;
constexpr auto excerpt_size = std::size_t{80};
} // namespace

line_reader::line_reader(const file& from, std::size_t line_bytes_max, const reading_range& range)
    : file_{from}, line_bytes_max_{line_bytes_max}, buffer_at_{range.offset}, end_{range.end},
      lines_{range.lines_before}, records_{range.separator} {}

/// Drops the bytes of returned lines, and makes room for a block behind the others.
void line_reader::make_room() {
  const auto rest = bytes().substr(begin_);
  const auto wanted = rest.size() + block_size;
  if (wanted > capacity_) {
    capacity_ = std::max(wanted, 2 * capacity_);
    auto larger = std::make_unique_for_overwrite<char[]>(capacity_);
    std::ranges::copy(rest, larger.get());
    buffer_ = std::move(larger);
  } else {
    std::char_traits<char>::move(buffer_.get(), rest.data(), rest.size());
  }
  size_ = rest.size();
  buffer_at_ += begin_;
  begin_ = 0;
}

result<bool> line_reader::fill() {
  make_room();
  const auto at = buffer_at_ + size_;
  const auto size = std::min<std::uint64_t>(block_size, end_ > at ? end_ - at : 0);
  auto read = file_.read_at(at, {buffer_.get() + size_, static_cast<std::size_t>(size)});
  if (!read)
    return read.error();
  const auto block = std::string_view{buffer_.get() + size_, *read};
  size_ += *read;
  if (see_ && !block.empty())
    see_(block);
  return !block.empty();
}

result<std::optional<text_line>> line_reader::next() {
  auto searched = begin_; // the bytes before this position contain no newline
  while (true) {
    auto newline = records_.find(bytes(), searched);
    const auto is_last = newline == std::string::npos;
    if (!is_last || size_ - begin_ > line_bytes_max_) {
      auto line = text_line{};
      line.size = (is_last ? size_ : newline) - begin_;
      line.text = bytes().substr(begin_, line.size);
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
    searched = size_ - begin_; // fill() moves the line to the start of the buffer
    auto more = fill();
    if (!more)
      return more.error();
    if (!*more)
      break;
    if (searched == 0 && buffer_at_ == 0) // a quote after a byte order mark begins a quoted field
      searched = size_ - without_byte_order_mark(bytes()).size();
  }
  if (begin_ == size_)
    return std::optional<text_line>{};
  auto line = text_line{};
  line.text = bytes().substr(begin_);
  line.size = line.text.size();
  line.number = ++lines_;
  line.offset = buffer_at_ + begin_;
  line.is_complete = false;
  line.open_quote = open_quote_of(line, line.text.back());
  begin_ = size_;
  return line;
}

/// Returns the number of the line on which the quoted field begins that contains the end of the
/// file, if this field also contains lines that follow; 0 otherwise.
/// @param last the last record of the file
/// @param end the last character of the file
std::uint64_t line_reader::open_quote_of(const text_line& last, char end) const noexcept {
  if (!records_.is_quoted())
    return 0;
  const auto breaks = records_.breaks() - records_.breaks_before_quote();
  const auto lines = breaks - (breaks > 0 && end == '\n' ? 1U : 0U);
  return lines > 0 ? last.number + records_.breaks_before_quote() : 0;
}

// Skips a line that is too long, block by block. Its beginning is kept for the error text.
result<text_line> line_reader::skip_long_line(text_line line) {
  excerpt_ = line.text.substr(0, excerpt_size);
  line.is_too_long = true;
  auto last = bytes().back();
  begin_ = size_;
  while (true) {
    auto more = fill();
    if (!more)
      return more.error();
    last = *more ? bytes().back() : last;
    auto newline = records_.find(bytes(), 0);
    line.size += newline == std::string::npos ? size_ : newline;
    line.is_complete = newline != std::string::npos;
    begin_ = line.is_complete ? newline + 1 : size_;
    if (line.is_complete || !*more)
      break;
  }
  line.open_quote = line.is_complete ? 0 : open_quote_of(line, last);
  lines_ += records_.take_breaks();
  line.text = excerpt_;
  return line;
}

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
// Reads the rows of a job while it runs: selects, repeats and limits the rows of the input.
#include "row_source.hpp"

#include <utility>

namespace superstep::detail {

row_source::row_source(const input_file& from, const input_facts& facts,
                       const batch_options& options)
    : reader_{from, options.line_bytes_max, options.bad_lines == on_bad_line::dead_letter,
              facts.bytes},
      selection_{facts.selection}, options_{options}, repeats_{options.repeat, options.seed} {
  if (options.prefix_bytes > 0)
    groups_ = std::make_shared<prefix_groups>(options.prefix_bytes, options.concurrency);
}

/// Returns the next row or invalid line of the job, in the order of the input.
result<std::optional<input_item>> row_source::next_of_input() {
  auto item = result<std::optional<input_item>>{};
  is_limited_ = options_.limit && rows_ >= *options_.limit;
  if (is_limited_)
    return item;
  do
    item = reader_.next();
  while (item && *item && !selection_.contains(selection_digest(**item)));
  if (item && *item)
    ++rows_;
  return item;
}

/// Returns first the invalid lines of the job and then its rows by group.
result<std::optional<input_item>> row_source::next_of_groups() {
  while (!is_grouped_) {
    auto item = next_of_input();
    if (!item || (*item && !(*item)->row))
      return item;
    if (*item) {
      groups_->add((*item)->line, (*item)->row->request.messages);
      continue;
    }
    groups_->close();
    is_grouped_ = true;
  }
  const auto at = groups_->next();
  if (!at)
    return std::optional<input_item>{};
  auto line = text_line{};
  line.number = at->number;
  line.offset = at->offset;
  line.size = at->size;
  return std::optional{
      input_item{line, reader_.reread(at->number, at->offset, at->size), false, at->group}};
}

bool row_source::is_ready() const {
  if (!is_grouped_)
    return true;
  return repeated_ ? !groups_->is_warming(repeated_->group) : groups_->is_ready();
}

result<std::optional<input_item>> row_source::next() {
  while (!repeated_) {
    auto item = groups_ ? next_of_groups() : next_of_input();
    if (!item || !*item)
      return item;
    if (!(*item)->row || options_.repeat == 1)
      return item;
    repeated_ = std::move(*item);
    samples_ = 0;
  }
  auto out = std::optional<input_item>{*repeated_};
  out->row = sample_of(*std::move(out->row), ++samples_, repeats_);
  if (samples_ == options_.repeat)
    repeated_.reset();
  return out;
}

std::optional<key_digest> row_source::key_of_long_line(const input_item& item) {
  if (!item.line.is_too_long)
    return std::nullopt;
  auto row = reread(item.line.number, item.line.offset, item.line.size, 1);
  return row ? std::optional{digest_of(row->request.key)} : std::nullopt;
}

std::optional<key_digest> row_source::key_of(const input_item& item) {
  return item.row ? std::optional{digest_of(item.row->request.key)} : key_of_long_line(item);
}

result<input_row> row_source::reread(std::uint64_t number, std::uint64_t offset, std::uint64_t size,
                                     std::uint32_t sample) {
  auto row = reader_.reread(number, offset, size);
  if (!row)
    return row;
  return sample_of(*std::move(row), options_.repeat == 1 ? 1 : sample, repeats_);
}

result<finished_rows> find_finished_rows(const input_file& from, const input_facts& facts,
                                         batch_options options, const journal_content& done,
                                         const stop_request& stop) {
  options.limit.reset();
  options.prefix_bytes = 0; // the order of the rows does not matter
  auto source = row_source{from, facts, options};
  auto out = finished_rows{};
  while (true) {
    if (stop.current() != stop_request::none)
      return error{errc::cancelled, "stopped while the input was being checked"};
    auto item = source.next();
    if (!item)
      return item.error();
    if (!*item)
      return out;
    if (const auto key = source.key_of(**item); key && done.done.contains(*key)) {
      ++out.numbers.all;
      out.numbers.failed += done.failed.contains(*key) ? 1U : 0U;
      out.keys.insert(*key);
    } else if (done.bad_lines.contains((*item)->line.number)) {
      ++out.numbers.all;
      ++out.numbers.failed;
    }
  }
}

} // namespace superstep::detail

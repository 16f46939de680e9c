// SPDX-License-Identifier: Apache-2.0
// Reads the rows of a job while it runs: selects, repeats and limits the rows of the input.
#include "row_source.hpp"

#include <utility>

namespace superstep::detail {

row_source::row_source(const input_file& from, const input_facts& facts,
                       const batch_options& options)
    : reader_{from, options.line_bytes_max, options.bad_lines == on_bad_line::dead_letter,
              facts.bytes},
      selection_{facts.selection}, options_{options} {}

/// Turns a row into one of its samples. A row that runs once stays as it is.
input_row row_source::sample_of(input_row row, std::uint32_t sample) const {
  if (options_.repeat == 1)
    return row;
  auto& request = row.request;
  request.key += "#" + std::to_string(sample);
  request.config.run_id = request.key;
  request.sample = sample;
  auto first = options_.seed;
  if (const auto* own = request.parameters.if_contains("seed"); own != nullptr && own->is_int64())
    first = static_cast<std::uint64_t>(own->get_int64());
  request.seed = first + (sample - 1);
  return row;
}

result<std::optional<input_item>> row_source::next() {
  while (!repeated_) {
    if (options_.limit && rows_ >= *options_.limit) {
      is_limited_ = true;
      return std::optional<input_item>{};
    }
    auto item = reader_.next();
    if (!item || !*item)
      return item;
    if (!selection_.contains(selection_digest(**item)))
      continue;
    ++rows_;
    if (!(*item)->row || options_.repeat == 1)
      return item;
    repeated_ = std::move(*item);
    samples_ = 0;
  }
  auto out = std::optional<input_item>{*repeated_};
  out->row = sample_of(*std::move(out->row), ++samples_);
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

result<input_row> row_source::reread(std::uint64_t number, std::uint64_t offset, std::uint64_t size,
                                     std::uint32_t sample) {
  auto row = reader_.reread(number, offset, size);
  if (!row)
    return row;
  return sample_of(*std::move(row), sample);
}

} // namespace superstep::detail

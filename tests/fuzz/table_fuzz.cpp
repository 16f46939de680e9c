// SPDX-License-Identifier: Apache-2.0
// Fuzz target for CSV inputs: the ends of records do not depend on how the bytes are split into
// blocks, and every accepted record is a JSON object with one text for each column.
#include "batch/record_end.hpp"
#include "batch/table_columns.hpp"
#include "fuzz_input.hpp"

#include <superstep/base/json.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace {

using namespace superstep;
using namespace superstep::detail;

/// Returns the positions of the newlines that end records. Each search sees `block` more bytes.
std::vector<std::size_t> ends_of(std::string_view text, std::size_t block) {
  auto out = std::vector<std::size_t>{};
  auto records = record_end{','};
  auto searched = std::size_t{0};
  for (auto seen = std::min(block, text.size());;) {
    const auto end = records.find(text.substr(0, seen), searched);
    if (end != std::string_view::npos) {
      out.push_back(end);
      searched = end + 1;
    } else if (seen == text.size()) {
      return out;
    } else {
      searched = seen;
      seen = std::min(seen + block, text.size());
    }
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  const auto ends = ends_of(text, text.size() + 1);
  fuzz::must(ends == ends_of(text, 3));
  auto columns = std::optional<table_columns>{};
  auto begin = std::size_t{0};
  auto count = std::size_t{0};
  for (const auto end : ends) {
    const auto record = text.substr(begin, end - begin);
    begin = end + 1;
    if (!columns) {
      auto parsed = table_columns::parse(record, ',');
      if (!parsed)
        return 0;
      columns = *std::move(parsed);
      const auto header = parse_json(columns->to_json(record).value());
      fuzz::must(header.has_value());
      count = header->as_object().size();
    } else if (const auto row = columns->to_json(record)) {
      const auto parsed = parse_json(*row);
      fuzz::must(parsed.has_value() && parsed->as_object().size() == count);
    }
  }
  return 0;
}

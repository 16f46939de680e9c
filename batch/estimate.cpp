// SPDX-License-Identifier: Apache-2.0
// Reads an input like a job does, but counts tokens instead of running rows.
#include "estimate.hpp"

#include "check_options.hpp"
#include "row_source.hpp"

#include <algorithm>
#include <filesystem>

namespace superstep::detail {

result<input_estimate>
estimate_input(const batch_options& options,
               const std::function<std::int64_t(const row_request&)>& tokens_of,
               const stop_request& stop) {
  auto given = options;
  // Inputs that cannot be read twice are copied to a file beside the output.
  given.output = (std::filesystem::temp_directory_path() / "superstep").string();
  if (auto checked = check_options(given); !checked)
    return checked.error();
  auto input = open_rows(given, stop);
  if (!input)
    return input.error();
  auto facts = scan_input(*input, given, stop);
  if (!facts)
    return facts.error();
  auto out = input_estimate{};
  out.rows = facts->rows;
  auto source = row_source{*input, *facts, given};
  while (true) {
    auto item = source.next();
    if (!item)
      return item.error();
    if (!*item)
      return out;
    if (!(*item)->row)
      continue;
    const auto tokens = tokens_of((*item)->row->request);
    ++out.runs;
    out.tokens += tokens;
    out.tokens_max = std::max(out.tokens_max, tokens);
  }
}

} // namespace superstep::detail

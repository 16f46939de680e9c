// SPDX-License-Identifier: Apache-2.0
// Reads the file of scores beside an output, for reports and comparisons.
#include "results/score_table.hpp"

#include "results/score.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>

namespace superstep::results {

namespace {

using hashed_score = std::pair<std::uint64_t, double>;

} // namespace

result<score_table> score_table::beside(const std::string& output) {
  auto out = score_table{};
  const auto path = scores_path_of(output);
  if (!detail::exists(path) || is_outdated(output))
    return out;
  auto reader = result_reader::open(path);
  if (!reader)
    return reader.error();
  const auto read = reader->for_each([&]() -> result<void> {
    const auto row = read_result_line(reader->object());
    if (out.scores_.empty())
      out.scored_by_ = row.scored_by;
    if (row.score)
      out.scores_.emplace_back(std::hash<std::string_view>{}(row.key), *row.score);
    return {};
  });
  if (!read)
    return read.error();
  std::ranges::sort(out.scores_, {}, &hashed_score::first);
  return out;
}

bool score_table::is_outdated(const std::string& output) {
  auto missing = std::error_code{};
  const auto changed = std::filesystem::last_write_time(output, missing);
  const auto scored = std::filesystem::last_write_time(scores_path_of(output), missing);
  return !missing && scored < changed;
}

void score_table::set_score(result_line& row) const {
  if (!row.scored_by.empty())
    return;
  // A score without a method may be an input column of this name.
  if (const auto found = find(row.key)) {
    row.score = found;
    row.scored_by = scored_by_;
  }
}

std::optional<double> score_table::find(std::string_view key) const noexcept {
  const auto hash = std::hash<std::string_view>{}(key);
  const auto found = std::ranges::lower_bound(scores_, hash, {}, &hashed_score::first);
  return found != scores_.end() && found->first == hash ? std::optional{found->second}
                                                        : std::nullopt;
}

} // namespace superstep::results

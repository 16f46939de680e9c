// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "results/result_line.hpp"

#include <superstep/base/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep::results {

/// The scores that `superstep score` has written beside an output, by row id. Needs 16 bytes per
/// row. Ids are stored as 64-bit hashes.
class score_table {
public:
  /// Reads the scores beside an output. The table is empty if there is no such file, or if it is
  /// outdated.
  [[nodiscard]] static result<score_table> beside(const std::string& output);
  /// Whether there are scores beside an output, and the output was changed after they were written,
  /// for example by rows that ran again.
  [[nodiscard]] static bool is_outdated(const std::string& output);
  /// Sets the score of a row whose line has none, if the table has one.
  void set_score(result_line& row) const;
  [[nodiscard]] bool empty() const noexcept { return scores_.empty(); }

private:
  [[nodiscard]] std::optional<double> find(std::string_view key) const noexcept;

  std::vector<std::pair<std::uint64_t, double>> scores_; // sorted by hash
  std::string scored_by_;                                // of the first score; all have the same
};

} // namespace superstep::results

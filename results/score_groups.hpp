// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace superstep::results {

/// A share with its 95 % confidence interval (Wilson score interval without continuity correction;
/// E. B. Wilson, Journal of the American Statistical Association 22, 1927).
struct rate {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// Returns the share of successes; all members are 0 if `total` is 0.
/// @param successes may be a sum of partial scores from 0 to 1
[[nodiscard]] rate wilson(double successes, std::uint64_t total) noexcept;

/// The scores of a job by the rows of its input. The repetitions of a row (`id#1`, `id#2`) are not
/// independent of each other: if a row is repeated and always gets the same answer, the repetitions
/// say no more about the agent than one answer. So the interval is that of fewer rows: of as many
/// independent ones as would give the mean the same variance (E. L. Korn and B. I. Graubard, Survey
/// Methodology 24, 1998). This number is reduced if few rows are repeated, because their variance
/// is then not well known. It is at least that of rows of which each always gets the same answer.
///
/// Needs about 50 bytes of memory per row of the input if all ids end with # and a number;
/// otherwise none.
class score_groups {
public:
  /// Adds the score of a row.
  void add(std::string_view key, double score);
  /// Returns the mean score with its interval; all members are 0 if there are no scores.
  [[nodiscard]] rate interval() const noexcept;
  /// Returns the sum of the scores.
  [[nodiscard]] double sum() const noexcept { return sum_; }
  /// Returns the number of rows of which the scored rows are repetitions; 0 if no row is repeated.
  [[nodiscard]] std::uint64_t repeated_rows() const noexcept;

private:
  struct group {
    double sum = 0;
    std::uint64_t rows = 0;
  };

  std::unordered_map<std::uint64_t, group> groups_; ///< by hash of the id without # and number
  double sum_ = 0;
  std::uint64_t rows_ = 0;
  bool is_repeated_ = true; ///< whether all ids so far end with # and a number
};

} // namespace superstep::results

// SPDX-License-Identifier: Apache-2.0
// Confidence intervals of scores, also of rows that are repeated.
#include "results/score_groups.hpp"

#include "results/number_check.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace superstep::results {

namespace {

constexpr auto z = 1.959963984540054; // 97.5 % quantile of the normal distribution

/// Returns the 97.5 % quantile of Student's t distribution, with an error below 1 %. Source:
/// M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 26.7.5.
double t_quantile(std::size_t degrees_of_freedom) noexcept {
  if (degrees_of_freedom == 1)
    return 12.7062;
  if (degrees_of_freedom == 2)
    return 4.3027;
  const auto v = static_cast<double>(degrees_of_freedom);
  constexpr auto z3 = z * z * z;
  constexpr auto z5 = z3 * z * z;
  constexpr auto z7 = z5 * z * z;
  return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}

/// Returns the interval for a share of a number of independent rows, which need not be whole.
rate wilson_of(double p, double n) noexcept {
  const auto centre = (p + z * z / (2 * n)) / (1 + z * z / n);
  const auto half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {p, std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

} // namespace

rate wilson(double successes, std::uint64_t total) noexcept {
  if (total == 0)
    return {};
  const auto n = static_cast<double>(total);
  return wilson_of(successes / n, n);
}

void score_groups::add(std::string_view key, double score) {
  sum_ += score;
  ++rows_;
  const auto source = repeated_row_of(key);
  if (source.empty() && is_repeated_) {
    is_repeated_ = false;
    groups_ = {};
  }
  if (!is_repeated_)
    return;
  auto& one = groups_[std::hash<std::string_view>{}(source)];
  one.sum += score;
  ++one.rows;
}

std::uint64_t score_groups::repeated_rows() const noexcept {
  return is_repeated_ && groups_.size() < rows_ ? groups_.size() : 0;
}

rate score_groups::interval() const noexcept {
  const auto sources = static_cast<double>(repeated_rows());
  if (sources == 0)
    return wilson(sum_, rows_);
  const auto n = static_cast<double>(rows_);
  const auto p = std::clamp(sum_ / n, 0.0, 1.0);
  auto squares = 0.0; // n² times the variance of the mean
  auto sizes = 0.0;
  for (const auto& [hash, one] : groups_) {
    const auto size = static_cast<double>(one.rows);
    const auto deviation = one.sum - size * p;
    squares += deviation * deviation;
    sizes += size * size;
  }
  constexpr auto negligible = 1e-9; // rounding errors of sums
  const auto binomial = n * n * p * (1 - p);
  if (binomial <= negligible) // all answers are right, or all are wrong
    return wilson_of(p, sources);
  // If each row always gets the same answer, the mean has the variance of so many independent ones.
  const auto effective_min = n * n / sizes;
  if (groups_.size() == 1)
    return wilson_of(p, effective_min);
  squares *= sources / (sources - 1); // the deviations are from a mean of the same rows
  const auto effective = squares <= negligible ? n : std::min(n, binomial / squares);
  const auto certainty = z / t_quantile(groups_.size() - 1);
  return wilson_of(p, std::max(effective_min, effective * certainty * certainty));
}

} // namespace superstep::results

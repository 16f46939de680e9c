// SPDX-License-Identifier: Apache-2.0
// Confidence intervals of scores, also of rows that are repeated.
#include "results/score_groups.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace superstep::results {

namespace {

/// Returns the interval for a share of a number of independent rows, which need not be whole.
rate wilson_of(double p, double n) noexcept {
  constexpr auto z = 1.959963984540054; // 97.5 % quantile of the normal distribution
  const auto centre = (p + z * z / (2 * n)) / (1 + z * z / n);
  const auto half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {p, std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

/// Returns the id without # and the number of the repetition; empty if it does not end so.
std::string_view source_of(std::string_view key) noexcept {
  const auto mark = key.rfind('#');
  if (mark == key.npos || mark + 1 == key.size() ||
      key.find_first_not_of("0123456789", mark + 1) != key.npos)
    return {};
  return key.substr(0, mark);
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
  const auto source = source_of(key);
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
  for (const auto& [hash, one] : groups_) {
    const auto deviation = one.sum - static_cast<double>(one.rows) * p;
    squares += deviation * deviation;
  }
  constexpr auto negligible = 1e-9; // rounding errors of sums
  const auto binomial = n * n * p * (1 - p);
  if (binomial <= negligible) // all answers are right, or all are wrong
    return wilson_of(p, sources);
  const auto effective = squares <= negligible ? n : binomial / squares;
  return wilson_of(p, std::clamp(effective, 1.0, n));
}

} // namespace superstep::results

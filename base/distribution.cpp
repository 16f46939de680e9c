// SPDX-License-Identifier: Apache-2.0
// A histogram with logarithmic buckets. A value below 2^bits has its own bucket. A larger value is
// assigned by the position of its highest bit and the `bits` bits that follow.
#include <superstep/base/distribution.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace superstep {

std::size_t distribution::bucket_of(std::uint64_t value) noexcept {
  const auto width = static_cast<std::size_t>(std::bit_width(value));
  if (width <= bits)
    return static_cast<std::size_t>(value);
  const auto shift = width - bits - 1;
  return ((shift + 1) << bits) + static_cast<std::size_t>((value >> shift) & ((1U << bits) - 1));
}

std::uint64_t distribution::start_of(std::size_t bucket) noexcept {
  if (bucket < (std::size_t{1} << bits))
    return bucket;
  const auto shift = (bucket >> bits) - 1;
  const auto in_row = bucket & ((std::size_t{1} << bits) - 1);
  return std::uint64_t{in_row + (std::size_t{1} << bits)} << shift;
}

std::uint64_t& distribution::count_in(std::size_t bucket) {
  if (counts_.empty())
    first_ = bucket;
  if (bucket < first_) {
    counts_.insert(counts_.begin(), first_ - bucket, 0);
    first_ = bucket;
  }
  counts_.resize(std::max(counts_.size(), bucket - first_ + 1));
  return counts_[bucket - first_];
}

void distribution::add(std::uint64_t value) {
  ++count_in(bucket_of(value));
  ++count_;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  sum_ += static_cast<double>(value);
}

std::uint64_t distribution::percentile(double share) const noexcept {
  const auto wanted = std::max<std::uint64_t>(
      static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_))), 1);
  auto seen = std::uint64_t{0};
  for (auto i = std::size_t{0}; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= wanted)
      return std::clamp(start_of(first_ + i), min_, max_);
  }
  return 0;
}

std::vector<distribution::bar> distribution::bars(std::size_t bars_max) const {
  auto out = std::vector<bar>{};
  if (count_ == 0 || bars_max == 0)
    return out;
  const auto last_bucket = bucket_of(std::numeric_limits<std::uint64_t>::max());
  const auto merged = (counts_.size() - 1) / bars_max + 1;
  for (auto i = std::size_t{0}; i < counts_.size(); i += merged) {
    const auto from = first_ + i;
    const auto to = from + merged <= last_bucket ? start_of(from + merged)
                                                 : std::numeric_limits<std::uint64_t>::max();
    auto one = bar{start_of(from), to, 0};
    for (auto j = i; j < std::min(i + merged, counts_.size()); ++j)
      one.count += counts_[j];
    out.push_back(one);
  }
  return out;
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// A histogram with logarithmic buckets. A value below 2^bits has its own bucket. A larger value is
// assigned by the position of its highest bit and the `bits` bits that follow.
#include <superstep/base/distribution.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

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

void distribution::add(std::uint64_t value) noexcept {
  ++buckets_[bucket_of(value)];
  ++count_;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  sum_ += static_cast<double>(value);
}

std::uint64_t distribution::percentile(double share) const noexcept {
  const auto wanted = std::max<std::uint64_t>(
      static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_))), 1);
  auto seen = std::uint64_t{0};
  for (auto bucket = std::size_t{0}; count_ > 0 && bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (seen >= wanted)
      return std::clamp(start_of(bucket), min_, max_);
  }
  return 0;
}

std::vector<distribution::bar> distribution::bars(std::size_t bars_max) const {
  auto out = std::vector<bar>{};
  if (count_ == 0 || bars_max == 0)
    return out;
  const auto first = bucket_of(min_);
  const auto last = bucket_of(max_);
  const auto merged = (last - first) / bars_max + 1;
  for (auto i = first; i <= last; i += merged) {
    auto one = bar{start_of(i), start_of(std::min(i + merged, buckets_.size() - 1)), 0};
    for (auto j = i; j < std::min(i + merged, last + 1); ++j)
      one.count += buckets_[j];
    out.push_back(one);
  }
  return out;
}

} // namespace superstep

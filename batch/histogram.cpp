// SPDX-License-Identifier: Apache-2.0
// A histogram of durations with buckets of growing width, so that percentiles need constant memory.
// The header states the precision.
#include <superstep/batch/batch.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

namespace superstep {

// A value below 2^bits has its own bucket. A larger value is assigned to the bucket of its highest
// `bits + 1` bits: the position of the highest bit selects a group of 2^bits buckets, and the
// following `bits` bits select the bucket in the group.
void histogram::add(std::chrono::nanoseconds duration) noexcept {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
  const auto width = static_cast<std::size_t>(std::bit_width(value));
  auto bucket = static_cast<std::size_t>(value);
  if (width > bits) {
    const auto shift = width - bits - 1;
    bucket =
        ((shift + 1) << bits) + static_cast<std::size_t>((value >> shift) & ((1U << bits) - 1));
  }
  ++buckets_[bucket];
  ++count_;
}

/// Adds up the buckets from the smallest until the wanted share of the values is reached. Returns
/// the lower bound of the last bucket, which inverts the computation in add().
std::chrono::nanoseconds histogram::percentile(double share) const noexcept {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  auto seen = std::uint64_t{0};
  for (auto bucket = std::size_t{0}; bucket < buckets_.size() && count_ > 0; ++bucket) {
    seen += buckets_[bucket];
    if (seen < std::max<std::uint64_t>(wanted, 1))
      continue;
    if (bucket < (std::size_t{1} << bits))
      return std::chrono::nanoseconds{bucket};
    const auto shift = (bucket >> bits) - 1;
    const auto in_row = bucket & ((std::size_t{1} << bits) - 1);
    return std::chrono::nanoseconds{((in_row + (std::size_t{1} << bits)) << shift)};
  }
  return std::chrono::nanoseconds{0};
}

} // namespace superstep

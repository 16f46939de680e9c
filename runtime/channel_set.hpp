// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/thin_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace superstep::detail {

/// The channels that a list contained when this object was made, for repeated look-ups. The list
/// may grow meanwhile. The list is sorted only if it is long and there are many look-ups; otherwise
/// it is searched in place.
class channel_set {
public:
  /// @param lookups the expected number of calls of contains()
  channel_set(const thin_list<std::uint32_t>& list, std::size_t lookups)
      : list_{list}, count_{list.size()} {
    if (std::min(count_, lookups) <= unsorted_max)
      return;
    sorted_.assign(list.begin(), list.end());
    std::ranges::sort(sorted_);
  }
  channel_set(const channel_set&) = delete;
  channel_set& operator=(const channel_set&) = delete;
  [[nodiscard]] bool contains(std::uint32_t channel) const noexcept {
    if (!sorted_.empty())
      return std::ranges::binary_search(sorted_, channel);
    const auto* const end = list_.begin() + count_;
    return std::find(list_.begin(), end, channel) != end;
  }

private:
  static constexpr std::size_t unsorted_max = 16;
  const thin_list<std::uint32_t>& list_;
  const std::size_t count_;
  std::vector<std::uint32_t> sorted_;
};

} // namespace superstep::detail

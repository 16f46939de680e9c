// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/assert.hpp>
#include <superstep/base/detail/short_list.hpp>
#include <superstep/channels/channel.hpp>

#include <cstdint>

namespace superstep {

/// The barrier of a join: it becomes available when each of its members has arrived, even in
/// different steps (`NamedBarrierValue` in langgraph/channels/named_barrier_value.py). A member is
/// a source of the join, identified by a number that compile() assigns. Consuming the barrier
/// empties it, so that a join works again inside a loop. Not thread-safe.
class named_barrier_value {
public:
  /// Creates an empty barrier.
  /// @param members number of members; they are numbered from 0
  explicit named_barrier_value(std::uint32_t members = 0)
      : members_{members}, seen_((members + 63) / 64, 0) {}

  /// Records that a member has arrived; returns changed::no if it had arrived before.
  /// @pre member < members()
  changed arrive(std::uint32_t member) noexcept {
    SUPERSTEP_ASSERT(member < members_);
    auto& word = seen_[member / 64];
    const auto bit = std::uint64_t{1} << (member % 64);
    if ((word & bit) != 0)
      return changed::no;
    word |= bit;
    ++arrived_;
    return changed::yes;
  }
  /// Returns the number of members.
  [[nodiscard]] std::uint32_t members() const noexcept { return members_; }
  /// Whether a member has arrived. @pre member < members()
  [[nodiscard]] bool has_arrived(std::uint32_t member) const noexcept {
    SUPERSTEP_ASSERT(member < members_);
    return (seen_[member / 64] >> (member % 64) & 1U) != 0;
  }
  /// Whether all members have arrived.
  [[nodiscard]] bool is_available() const noexcept { return arrived_ == members_; }
  /// Empties the barrier if it is available; returns changed::no if it is not.
  changed consume() noexcept {
    if (!is_available())
      return changed::no;
    reset();
    return changed::yes;
  }
  /// Empties the barrier: no member has arrived.
  void reset() noexcept {
    for (auto& word : seen_)
      word = 0;
    arrived_ = 0;
  }

private:
  std::uint32_t members_;
  std::uint32_t arrived_ = 0;
  detail::short_list<std::uint64_t, 1> seen_;
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/task.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace superstep {

/// A bound on the bytes that many readers hold at once, shared by all of them.
///
/// A reader that needs more than is left waits, in the order of arrival of the readers. One of those
/// that would have to wait is exempt from the bound until it has returned what it holds: the bound
/// may be exceeded by one reader, and there is no deadlock.
///
/// Readers that know their size reserve it at once and hold nothing while they wait: as many of them
/// continue as fit. Readers that grow step by step keep what they hold while they wait for more, so
/// many of them may leave room for the exempt one alone.
///
/// @par Threads
/// Every member from any thread. Copies share one budget; leases keep it alive.
class byte_budget {
  struct state;

public:
  /// The bytes that one reader holds. Returned by the destructor, on any thread. Used by one coroutine at a
  /// time.
  class [[nodiscard]] lease {
  public:
    lease() noexcept = default;
    lease(lease&& other) noexcept
        : from_{std::move(other.from_)}, ticket_{std::exchange(other.ticket_, 0)} {}
    lease& operator=(lease&& other) noexcept {
      if (this != &other) {
        release();
        from_ = std::move(other.from_);
        ticket_ = std::exchange(other.ticket_, 0);
      }
      return *this;
    }
    ~lease() { release(); }

    /// Waits until `bytes` more may be held. The lease outlives the task.
    [[nodiscard]] task<void> grow(std::size_t bytes);
    /// Whether `bytes` more may be held now; they are then held.
    [[nodiscard]] bool try_grow(std::size_t bytes);
    void release() noexcept;

  private:
    friend class byte_budget;
    explicit lease(std::shared_ptr<state> from) noexcept : from_{std::move(from)} {}
    std::shared_ptr<state> from_;
    std::uint64_t ticket_ = 0; ///< place among the readers; 0: holds nothing yet
  };

  /// `bytes_max` at once; 0 = no limit.
  explicit byte_budget(std::size_t bytes_max);

  [[nodiscard]] lease open() const;
  [[nodiscard]] std::size_t used() const;
  [[nodiscard]] std::size_t used_max() const; ///< the most there ever were
  [[nodiscard]] std::size_t waiting() const;

private:
  static task<void> wait_for_room(std::shared_ptr<state> in, std::uint64_t ticket,
                                  std::size_t bytes);
  std::shared_ptr<state> state_;
};

} // namespace superstep

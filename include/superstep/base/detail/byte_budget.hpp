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
/// A reader that needs more than is left waits, in the order of arrival of the readers. One of the
/// waiting readers is exempt from the bound until it has returned its bytes. The bound may
/// therefore be exceeded by one reader, and there is no deadlock.
///
/// Readers that know their size should reserve it in one call. They hold nothing while they wait,
/// so as many continue as fit. Readers that grow step by step keep their bytes while they wait for
/// more. Many of them together may then leave room for the exempt one only.
///
/// @par Threads
/// All members may be called from any thread. Copies share one budget; leases keep it alive.
class byte_budget {
  struct state;

public:
  /// The bytes that one reader holds. Returned by the destructor, on any thread. Used by one
  /// coroutine at a time.
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

    /// Waits until `bytes` more may be held, and reserves them. The lease must outlive the task.
    [[nodiscard]] task<void> grow(std::size_t bytes);
    /// Reserves `bytes` more if they may be held now; returns whether it did.
    [[nodiscard]] bool try_grow(std::size_t bytes);
    void release() noexcept;

  private:
    friend class byte_budget;
    explicit lease(std::shared_ptr<state> from) noexcept : from_{std::move(from)} {}
    std::shared_ptr<state> from_;
    std::uint64_t ticket_ = 0; ///< position among the readers; 0: holds no bytes yet
  };

  /// @param bytes_max number of bytes held at once; 0: no limit
  explicit byte_budget(std::size_t bytes_max);

  /// Returns a lease without bytes, for one reader.
  [[nodiscard]] lease open() const;
  [[nodiscard]] std::size_t used() const;
  [[nodiscard]] std::size_t used_max() const; ///< the largest number so far
  [[nodiscard]] std::size_t waiting() const;

private:
  static task<void> wait_for_room(std::shared_ptr<state> in, std::uint64_t ticket,
                                  std::size_t bytes);
  std::shared_ptr<state> state_;
};

} // namespace superstep

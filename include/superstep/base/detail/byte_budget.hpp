// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/task.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace superstep {

/// A shared limit on the bytes that many readers hold at the same time.
///
/// A reader that needs more bytes than are free waits; readers continue in the order of their first
/// reservation. To prevent a deadlock, one of the waiting readers is exempt from the limit until it
/// has returned its bytes. The limit may therefore be exceeded by one reader.
///
/// A reader that knows its size should reserve it in one call, because it then holds no bytes while
/// it waits. A reader that grows step by step keeps its bytes while it waits for more. Many such
/// readers may together use up the limit, and then only the exempt reader makes progress.
///
/// @par Threads
/// All members may be called from any thread. Copies share one budget; leases keep it alive.
class byte_budget {
  struct state;

public:
  /// The bytes that one reader holds. The destructor returns them, on any thread. Only one
  /// coroutine may use a lease at a time.
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
    /// Reserves `bytes` more if that is possible without waiting. Returns whether it was.
    [[nodiscard]] bool try_grow(std::size_t bytes);
    /// Returns all bytes.
    void release() noexcept;

  private:
    friend class byte_budget;
    explicit lease(std::shared_ptr<state> from) noexcept : from_{std::move(from)} {}
    std::shared_ptr<state> from_;
    std::uint64_t ticket_ = 0; ///< position among the readers; 0: holds no bytes yet
  };

  /// @param bytes_max maximum number of bytes held at once; 0: no limit
  explicit byte_budget(std::size_t bytes_max);

  /// Returns a lease without bytes, for one reader.
  [[nodiscard]] lease open() const;
  /// The number of bytes held now.
  [[nodiscard]] std::size_t used() const;
  /// The largest value of used() so far.
  [[nodiscard]] std::size_t used_max() const;
  /// The number of readers that wait.
  [[nodiscard]] std::size_t waiting() const;

private:
  static task<void> wait_for_room(std::shared_ptr<state> in, std::uint64_t ticket,
                                  std::size_t bytes);
  std::shared_ptr<state> state_;
};

} // namespace superstep

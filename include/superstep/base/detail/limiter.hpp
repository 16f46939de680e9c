// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/task.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

namespace superstep {

/// A limit on the number of concurrent users of a resource. All runs of a process share one object
/// per resource.
///
/// A coroutine that finds the limiter full is suspended; waiters are admitted in the order of
/// arrival. A waiter whose coroutine is destroyed leaves the queue. A permit that was already
/// assigned to it passes to the next waiter.
///
/// @par Threads
/// All members may be called from any thread. Copies share one limit; permits keep it alive.
class limiter {
  struct state;

public:
  /// A permit to use the resource. The destructor returns it, on any thread.
  class [[nodiscard]] permit {
  public:
    permit() noexcept = default;
    permit(permit&&) noexcept = default;
    permit& operator=(permit&& other) noexcept {
      if (this != &other) {
        release();
        from_ = std::move(other.from_);
      }
      return *this;
    }
    ~permit() { release(); }
    /// Returns the permit; the object becomes empty.
    void release() noexcept;
    /// Whether the object holds a permit.
    [[nodiscard]] explicit operator bool() const noexcept { return from_ != nullptr; }

  private:
    friend class limiter;
    explicit permit(std::shared_ptr<state> from) noexcept : from_{std::move(from)} {}
    std::shared_ptr<state> from_;
  };

  /// @param limit maximum number of permits in use; 0: no limit
  explicit limiter(std::size_t limit);

  /// Waits for a permit, in the order of arrival.
  [[nodiscard]] task<permit> acquire() const;
  /// Returns a permit without waiting, or nothing if none is free or others are waiting.
  [[nodiscard]] std::optional<permit> try_acquire() const;

  /// Changes the limit. A higher limit admits waiters at once. A lower limit takes effect as
  /// permits are returned.
  void set_limit(std::size_t limit) const;
  /// The current limit; 0: no limit.
  [[nodiscard]] std::size_t limit() const;
  /// The number of permits in use.
  [[nodiscard]] std::size_t in_flight() const;
  /// The largest value of in_flight() so far.
  [[nodiscard]] std::size_t in_flight_max() const;
  /// The number of coroutines that wait for a permit.
  [[nodiscard]] std::size_t waiting() const;

private:
  static std::optional<permit> enter(const std::shared_ptr<state>& in);
  static task<permit> wait_in_line(std::shared_ptr<state> in);
  static void admit(const std::shared_ptr<state>& in);
  std::shared_ptr<state> state_;
};

} // namespace superstep

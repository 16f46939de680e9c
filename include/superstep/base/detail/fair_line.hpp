// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/task.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace superstep {

/// A queue of runs for one place, for example the place of the next request to a server.
///
/// Waiting coroutines are admitted by the start of their run: a run that entered the queue earlier
/// for the first time goes first. If a run has several coroutines here at once, only the first of
/// them has this rank. Its second coroutine waits until every other run has been admitted once, and
/// so on. A run with many calls therefore does not delay the others.
///
/// @par Threads
/// All members may be called from any thread. Copies share one queue; turns keep it alive.
class fair_line {
  struct state;

public:
  /// The place. The destructor gives it to the next coroutine, on any thread.
  class [[nodiscard]] turn {
  public:
    turn() noexcept = default;
    turn(turn&&) noexcept = default;
    turn& operator=(turn&& other) noexcept {
      if (this != &other) {
        release();
        of_ = std::move(other.of_);
      }
      return *this;
    }
    ~turn() { release(); }
    /// Gives the place to the next coroutine; the object becomes empty.
    void release() noexcept;

  private:
    friend class fair_line;
    explicit turn(std::shared_ptr<state> of) noexcept : of_{std::move(of)} {}
    std::shared_ptr<state> of_;
  };

  /// @param runs_max maximum number of runs whose start is remembered. Beyond it, the runs that
  /// started first and do not wait are forgotten; they rank as new runs later.
  explicit fair_line(std::size_t runs_max = 8'192);

  /// Waits for the place. A coroutine that is destroyed leaves the queue.
  /// @param run identifies the run
  [[nodiscard]] task<turn> enter(std::string_view run) const;
  /// Returns the place without waiting; nothing if it is taken.
  /// @param run identifies the run
  [[nodiscard]] std::optional<turn> try_enter(std::string_view run) const;
  /// The number of coroutines that wait.
  [[nodiscard]] std::size_t waiting() const;

private:
  static std::optional<turn> enter_now(const std::shared_ptr<state>& in, std::size_t run);
  static void admit(const std::shared_ptr<state>& in);
  std::shared_ptr<state> state_;
};

} // namespace superstep

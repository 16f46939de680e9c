// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/detail/run_event.hpp>
#include <superstep/actors/run.hpp>
#include <superstep/base/task.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

namespace superstep::detail {

/// Receives the events of a run. The run's lane and the bodies that emit events call it, so it must
/// be thread-safe.
class event_sink {
public:
  virtual ~event_sink() = default;
  /// Takes an event. Must not block.
  virtual void push(run_event) = 0;
  /// Whether the run should pause before its next step. A sink that has returned true must call the
  /// function that on_room() received when it has room again.
  [[nodiscard]] virtual bool is_full() const { return false; }
  /// Receives the function that continues a paused run; see is_full(). The sink may call that
  /// function from any thread.
  virtual void on_room(std::function<void()>) {}
};

/// The events of one run, without the type of the state; see event_range. Destroying it cancels the
/// run if it has not ended.
class event_stream {
public:
  class queue;
  event_stream(std::shared_ptr<queue> events, run_handle run);
  event_stream(event_stream&&) noexcept;
  event_stream& operator=(event_stream&&) = delete;
  ~event_stream();

  /// Waits for the next event and returns it; returns nothing when the run has ended. If the run
  /// failed, throws its graph_error after the last event.
  [[nodiscard]] std::optional<run_event> next();
  /// Returns a task that returns the same as next() but does not block a thread. The stream must
  /// outlive the task.
  [[nodiscard]] task<std::optional<run_event>> receive();
  /// Returns a handle to the run, for draining or cancelling it from any thread.
  [[nodiscard]] const run_handle& handle() const noexcept { return run_; }
  /// Returns the result of the run. @pre next() has returned nothing or thrown
  [[nodiscard]] const raw_result& result() const;

private:
  std::shared_ptr<queue> events_;
  run_handle run_;
};

} // namespace superstep::detail

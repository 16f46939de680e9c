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

/// Receives the events of a run. Called by the run's lane and by bodies that emit events, so it
/// must be thread-safe.
class event_sink {
public:
  virtual ~event_sink() = default;
  /// Takes an event. Must not block.
  virtual void push(run_event) = 0;
  /// Whether the run should pause before its next step. The sink that paused a run must call the
  /// function of on_room() when it has room again.
  [[nodiscard]] virtual bool is_full() const { return false; }
  /// Stores the engine's function to call, from any thread, when a full sink has room again.
  virtual void on_room(std::function<void()>) {}
};

/// The events of one run, in erased form, for one reader. Destroying it early cancels the run.
class event_stream {
public:
  class queue;
  event_stream(std::shared_ptr<queue> events, run_handle run);
  event_stream(event_stream&&) noexcept;
  event_stream& operator=(event_stream&&) = delete;
  ~event_stream();

  /// Returns the next event, or nothing if the run has ended. Blocks. If the run failed, throws its
  /// graph_error after the last event.
  [[nodiscard]] std::optional<run_event> next();
  /// Awaits the next event without blocking a thread; see next(). The stream must outlive the task.
  [[nodiscard]] task<std::optional<run_event>> receive();
  /// A handle to the run, for draining or cancelling it from another thread.
  [[nodiscard]] const run_handle& handle() const noexcept { return run_; }
  /// The result of the run. @pre next() returned nothing
  [[nodiscard]] const raw_result& result() const;

private:
  std::shared_ptr<queue> events_;
  run_handle run_;
};

} // namespace superstep::detail

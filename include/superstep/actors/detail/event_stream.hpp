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

/// Where the events of a run go. Called by the run's lane and by bodies that emit: thread-safe.
class event_sink {
public:
  virtual ~event_sink() = default;
  virtual void push(run_event) = 0;
  /// Whether the run should pause before its next step. When the answer turns to no, resume() is
  /// due.
  [[nodiscard]] virtual bool is_full() const { return false; }
  /// Given by the engine: to be called when a full sink has room again. Any thread.
  virtual void on_room(std::function<void()>) {}
};

/// The events of one run, pulled by one reader. Destroying it early cancels the run.
class event_stream {
public:
  class queue;
  event_stream(std::shared_ptr<queue> events, run_handle run);
  event_stream(event_stream&&) noexcept;
  event_stream& operator=(event_stream&&) = delete;
  ~event_stream();

  /// The next event; nothing when the run has ended. Blocks. Throws the run's graph_error after the
  /// last event when the run failed.
  [[nodiscard]] std::optional<run_event> next();
  /// The same for coroutines: waits without a thread. One reader at a time; the stream must outlive
  /// the task.
  [[nodiscard]] task<std::optional<run_event>> receive();
  /// The run, to be drained or cancelled from another thread.
  [[nodiscard]] const run_handle& handle() const noexcept { return run_; }
  /// How the run ended; set once next() returned nothing.
  [[nodiscard]] const raw_result& result() const;

private:
  std::shared_ptr<queue> events_;
  run_handle run_;
};

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "objects.hpp"

#include <superstep/actors/run.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace superstep::python {

/// Returns the name of a status, as Python code reads it.
[[nodiscard]] const char* status_name(run_status status) noexcept;

/// Results of runs on their way from the engine to Python. The engine's threads put them in without
/// the GIL. Python takes them out: it waits, or is notified through an event loop.
class result_queue {
public:
  /// Makes the Python object of a result. Called by the thread that takes the result.
  using maker = std::function<nb::object()>;

  /// Adds a result. May be called from any thread.
  void put(std::int64_t tag, maker make);
  /// Returns the results that have arrived, as a list of (tag, result). Waits for at least one, but
  /// at most `seconds`; negative: without a limit. Other Python threads run meanwhile. Handles
  /// signals at least every 50 ms, so that Ctrl-C raises KeyboardInterrupt. Takes nothing if the
  /// handler of a signal raises an exception. Needs the GIL.
  ///
  /// `runs` is the number of runs whose results are put in here. If it is large, the function waits
  /// for several results, at most a millisecond longer: a thread that wakes for each result
  /// competes for the GIL with the tools of the other runs.
  [[nodiscard]] nb::list take(double seconds, std::size_t runs);
  /// Sets the function that is called, by a thread of the body_pool, when a result arrives and the
  /// queue was empty. A run has the queue, and the garbage collector does not see it, so the
  /// function must not refer to what waits for the run. Needs the GIL.
  void set_notify(nb::object notify);

private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::pair<std::int64_t, maker>> results_;
  std::size_t wanted_ = 1; // number of results for which take() waits
  shared_object notify_;
};
using result_queue_ptr = std::shared_ptr<result_queue>;

/// Makes take() throw std::runtime_error on the calling thread, one of the engine's, until the end
/// of the scope: the engine waits for this thread, so the run might never end.
class engine_scope {
public:
  /// @param code what the thread executes, for the text of the exception; a literal
  explicit engine_scope(const char* code) noexcept;
  engine_scope(const engine_scope&) = delete;
  engine_scope& operator=(const engine_scope&) = delete;
  ~engine_scope();

private:
  const char* before_;
};

/// The queue and the tag under which the result of a run is delivered.
struct delivery {
  result_queue_ptr queue;
  std::int64_t tag = 0;
};

class body_pool;
class process;

/// A run that process::live_runs counts from the construction of this object to end().
/// @par Threads
/// The members may be called from any thread.
class live_run {
public:
  explicit live_run(process& in) noexcept;
  live_run(const live_run&) = delete;
  live_run& operator=(const live_run&) = delete;
  ~live_run() { end(); }
  /// Declares that the program has cancelled the run, so that it is not lost if the process exits.
  void cancel() noexcept;
  void end() noexcept;

private:
  enum class phase : std::uint8_t { live, cancelled, ended };

  process& in_;
  body_pool* elsewhere_; // counts the run, if another thread than the main thread has started it
  std::atomic<phase> at_{phase::live};
};
using live_run_ptr = std::shared_ptr<live_run>;

/// Counts a run as live; see live_run. Needs the GIL.
[[nodiscard]] live_run_ptr count_run();

/// A run as Python code holds it: the class Run of the module.
struct started_run {
  run_handle handle;
  live_run_ptr live;

  void cancel() const {
    live->cancel();
    handle.cancel();
  }
};

} // namespace superstep::python

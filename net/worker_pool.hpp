// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/task.hpp>
#include <superstep/net/detail/child_process.hpp>
#include <superstep/net/io_runtime.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace superstep {

/// Options of a worker_pool.
struct worker_pool_options {
  /// The program. `output_bytes_max` limits one line, `error_bytes_max` the kept end of standard
  /// error. `stdin_text` and `timeout` are not used.
  process_request program{};
  std::size_t workers = 1;           ///< maximum number of processes
  std::size_t waiting_max = 100'000; ///< maximum number of calls that wait for a process
  /// The time that the processes have to exit after their standard input was closed. Then they
  /// are killed.
  std::chrono::milliseconds stop_grace{2'000};
};

/// The meaning of a worker's line for the call that the worker serves.
struct line_verdict {
  enum class kind : std::uint8_t {
    answer,  ///< the answer to the call
    stale,   ///< an answer to an earlier call: is ignored, and the worker is replaced later
    invalid, ///< no valid answer: the call fails
  };
  kind is = kind::answer; ///< how to treat the line
  std::string why{};      ///< for `invalid`: the fault
};

/// One call of a worker.
struct worker_call {
  std::string line; ///< the line to write, with its line break
  /// Maximum time from the moment when a worker gets the line.
  std::chrono::milliseconds timeout{60'000};
  /// Judges a line of the worker. Is called on the I/O thread, so it must be short. It can store
  /// the answer: the thread that awaits the call sees what it stored.
  std::function<line_verdict(std::string_view)> judge;
};

/// Processes of one program that stay and answer calls, one at a time each: a line in, a line out.
///
/// A process is started when a call finds none that is free, up to `workers`. Calls wait in the
/// order of their arrival. A process is replaced if it exits, does not answer in time, writes an
/// invalid answer or an unexpected line, or if its call is cancelled.
///
/// @par Threads
/// May be used by any thread.
class worker_pool {
public:
  /// @param io runs the processes; must not be null
  worker_pool(std::shared_ptr<io_runtime> io, worker_pool_options options);
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;
  /// Closes the standard input of the processes, waits for their end, up to `stop_grace`, and kills
  /// the others. On the I/O thread it kills them at once.
  ~worker_pool();

  /// Passes a line to a worker and waits for its answer, without blocking a thread. Destroying the
  /// task cancels the call and kills its worker. The pool may be destroyed while the task waits.
  ///
  /// @return nothing if `judge` has accepted a line. Failures of the worker, which may succeed when
  /// they are repeated, have the codes errc::timed_out, errc::io_failed (the worker has ended),
  /// errc::parse_failed (an invalid answer), errc::too_large or errc::cancelled. Any other code
  /// means that the program cannot be used: errc::shortage, the error of its start, or
  /// errc::invalid_argument if every process ended before it answered any call.
  [[nodiscard]] task<result<void>> ask(worker_call call);

  class state;

private:
  std::shared_ptr<io_runtime> io_;
  std::shared_ptr<state> state_;
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/detail/run_event.hpp>
#include <superstep/runtime/inputs.hpp>

#include <cstdint>
#include <exception>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace superstep {

namespace detail {
class engine_core;
} // namespace detail

/// A reference to one run of an engine, returned by engine::submit(). Cheap to copy. May outlive
/// the run and the engine. All members may be called from any thread. They have no effect on a run
/// that has ended, or if the handle is empty. They throw nothing but std::bad_alloc.
class run_handle {
public:
  /// Creates an empty handle, which refers to no run.
  run_handle() = default;
  /// Requests that the run ends with graph_errc::cancelled; does not wait. Suspended bodies are
  /// destroyed. A body that is running is asked to stop (runtime::stop()); it runs to completion
  /// and its result is discarded. node_options::on_failure may provide the output of unfinished
  /// tasks.
  void cancel() const;
  /// Requests that the run ends with graph_errc::drained before its next super-step; does not wait.
  /// The current super-step is completed. With a checkpointer, the run can be resumed, and no work
  /// is lost or repeated. A run without a next step ends as usual.
  /// @param reason part of the error's text
  void drain(std::string reason = "requested") const;
  /// Whether the handle refers to a run, which may have ended.
  [[nodiscard]] explicit operator bool() const noexcept { return run_ != 0; }

private:
  friend class engine;
  friend class engine_debug;
  // One pointer per lane, so that lanes do not contend for one reference count.
  std::shared_ptr<const std::weak_ptr<detail::engine_core>> core_;
  std::uint64_t run_ = 0;
  std::uint32_t lane_ = 0;
};

/// The ways in which a run ends.
enum class run_status : std::uint8_t {
  finished,    ///< no node was left to run
  interrupted, ///< it stopped at an interrupt or a breakpoint; the thread can be resumed
  failed,      ///< see run_result::error
};

/// Prints the name of the enumerator, e.g. `run_status::finished`.
std::ostream& operator<<(std::ostream& out, run_status status);

/// The result of a run. Owned by the caller; independent of the engine.
template <class State>
struct run_result {
  /// The state when the run ended. For a failed run: the state after its last finished step, or a
  /// default State if it never started.
  State state{};
  /// The pending interrupts if the run was interrupted, in the order of their tasks; empty at a
  /// breakpoint (compile_options::interrupt_before).
  std::vector<interrupt> interrupts{};
  run_stats stats{};                        ///< counters of the cost of the run
  run_status status = run_status::finished; ///< how the run ended
  /// Why the run failed; not set if it did not fail. Never set in results of engine::invoke(),
  /// which throws the error.
  std::optional<run_error> error{};
};

namespace detail {

/// Stores the exception that is being handled as the error of the run, unless it has an error. For
/// an exception of the copy constructor of the state, which is user code.
void note_copy_failure(raw_result& raw);

template <class State>
[[nodiscard]] run_result<State> result_with(State&& state, raw_result&& raw) {
  const auto status = raw.error        ? run_status::failed
                      : raw.interrupts ? run_status::interrupted
                                       : run_status::finished;
  return {std::move(state), raw.interrupts ? std::move(*raw.interrupts) : std::vector<interrupt>{},
          std::move(raw.stats), status, std::move(raw.error)};
}

/// Converts a result to the type that callers of a graph over State receive. Creates no State other
/// than the returned one, because constructors are user code and may throw.
template <class State>
[[nodiscard]] run_result<State> typed_result(const state_adapter<State>& adapter, raw_result raw) {
  if (raw.state) {
    try {
      return result_with<State>(adapter.take(raw.state), std::move(raw));
    } catch (...) {
      note_copy_failure(raw);
    }
  }
  return result_with<State>(State{}, std::move(raw));
}

} // namespace detail
} // namespace superstep

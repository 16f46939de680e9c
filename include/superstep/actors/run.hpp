// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/detail/run_event.hpp>
#include <superstep/runtime/inputs.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace superstep {

namespace detail {
class engine_core;
} // namespace detail

/// A reference to one run of an engine. Cheap to copy. May outlive the run and the engine.
class run_handle {
public:
  run_handle() = default;
  /// Requests that the run ends with graph_errc::cancelled; does not wait. Suspended bodies are
  /// destroyed. A blocking body runs to completion and its result is discarded.
  /// node_options::on_failure may provide the output of unfinished tasks. No effect on a run that
  /// has ended. Thread-safe.
  void cancel() const;
  /// Stops the run before its next super-step with graph_errc::drained; does not wait. A run on a
  /// thread can be resumed: no work is lost or repeated. Thread-safe.
  /// @param reason part of the error's text
  void drain(std::string reason = "requested") const;
  [[nodiscard]] explicit operator bool() const noexcept { return run_ != 0; }

private:
  friend class engine;
  friend class engine_debug;
  std::shared_ptr<const std::weak_ptr<detail::engine_core>>
      core_; // shared per lane, to avoid contention
  std::uint64_t run_ = 0;
  std::uint32_t lane_ = 0;
};

/// The ways in which a run ends.
enum class run_status : std::uint8_t {
  finished,    ///< nothing was left to run
  interrupted, ///< it stopped at an interrupt or a breakpoint; the thread can be resumed
  failed,      ///< see run_result::error
};

/// The result of a run.
template <class State>
struct run_result {
  /// The state when the run ended. For a failed run: the state after its last finished step, or a
  /// default State if it never started.
  State state{};
  /// The pending interrupts. Empty if the run finished, and at a breakpoint.
  std::vector<interrupt> interrupts{};
  run_stats stats{};
  run_status status = run_status::finished;
  /// Why the run failed. Not set in results of invoke(), which throws it.
  std::optional<run_error> error{};
};

namespace detail {

/// Called in an exception handler: stores that copying the state, which is user code, has thrown.
void note_copy_failure(raw_result& raw);

template <class State>
[[nodiscard]] run_result<State> result_with(State&& state, raw_result&& raw) {
  const auto status = raw.error        ? run_status::failed
                      : raw.interrupts ? run_status::interrupted
                                       : run_status::finished;
  return {std::move(state), raw.interrupts ? std::move(*raw.interrupts) : std::vector<interrupt>{},
          std::move(raw.stats), status, std::move(raw.error)};
}

/// Converts a result to the type that callers of a graph over State receive. Creates no State
/// except the one that it returns, because constructors are user code.
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

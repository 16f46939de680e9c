// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/debug.hpp>
#include <superstep/actors/engine_options.hpp>
#include <superstep/actors/event_stream.hpp>
#include <superstep/actors/run_event.hpp>
#include <superstep/actors/run_handle.hpp>
#include <superstep/actors/state_stream.hpp>
#include <superstep/base/cache_lines.hpp>
#include <superstep/runtime/graph.hpp>
#include <superstep/runtime/run_config.hpp>
#include <superstep/runtime/run_input.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace superstep {

class engine_core;

/// How a run ended. On an error `state` is what the last finished step left.
template <class State>
struct run_result {
  std::optional<State> state;
  std::optional<run_error> error;
  run_stats stats;
  /// Set: the run stopped before its end, for these questions (none: at a breakpoint). Whoever
  /// names the thread again goes on from there.
  std::optional<std::vector<interrupt>> asked{};
};

/// Runs graphs. Owns the threads; one engine serves a whole process and any number of graphs.
///
/// @par Threads
/// All members may be called from any thread. Callbacks run on a thread of the engine and must be
/// short: they may start further runs, they must not block. What a callback throws is reported on
/// standard error and dropped.
/// The destructor cancels what still runs. A run submitted meanwhile is answered with
/// graph_errc::cancelled.
class engine {
public:
  explicit engine(engine_options options = {});
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;
  ~engine();

  /// Runs to the end and returns the final state. The input is a state, an update of one, or a
  /// part: a struct with some of its fields. A whole state is the input of a new thread only. Blocks
  /// the caller, so it is not for bodies: they go to another node, or run a graph by submit().
  ///
  /// Throws graph_error: why the run failed, or graph_errc::interrupted if it stopped at an
  /// interrupt or a breakpoint, because its state is then not a final one. run() returns it with
  /// the pending interrupts; the thread, if there is one, can be resumed.
  template <class State, run_input_of<State> Input = State>
  State invoke(const compiled_graph<State>& graph, Input input, run_config config = {}) {
    auto done = wait_for(graph.table(), input_writes<State>(std::move(input)), std::move(config));
    if (done.error)
      throw_run_error(std::move(*done.error));
    if (done.asked)
      throw_interrupted(graph.table()->name(), *done.asked);
    return std::move(*state_of<State>(done));
  }

  /// Runs a thread (run_config::thread_id) from an input, resumes it where it stopped
  /// (run_input::go_on()) or applies a command. Does not throw for a run that fails or stops: the
  /// result has the error, the pending interrupts and the last state.
  template <class State>
  run_result<State> run(const compiled_graph<State>& graph, run_input input,
                        run_config config = {}) {
    auto raw = wait_for(graph.table(), std::move(input), std::move(config));
    auto state = state_of<State>(raw);
    return {std::move(state), std::move(raw.error), std::move(raw.stats), std::move(raw.asked)};
  }

  /// Starts a run and returns at once; `done` is called exactly once, whatever happens.
  template <class State, run_input_of<State> Input = State>
  run_handle submit(const compiled_graph<State>& graph, Input input, run_config config,
                    std::type_identity_t<std::function<void(run_result<State>)>> done) {
    return start(graph.table(), input_writes<State>(std::move(input)), std::move(config),
                 completion<State>{{}, std::move(done)});
  }

  /// Starts a run and hands out its events as they come. A reader that falls behind holds the run
  /// back at its next super-step (buffer_max events).
  template <class State, run_input_of<State> Input = State>
  state_stream<State> stream(const compiled_graph<State>& graph, Input input, stream_mode modes,
                             run_config config = {}, std::size_t buffer_max = 1'024) {
    return state_stream<State>{open_stream(graph.table(), input_writes<State>(std::move(input)),
                                           modes, std::move(config), buffer_max)};
  }

  /// The same for tables of other front ends.
  run_handle start(const program_ptr& table, run_input input, run_config config,
                   std::function<void(raw_result)> done, stream_mode modes = stream_mode::none,
                   std::shared_ptr<event_sink> sink = nullptr);
  raw_result wait_for(const program_ptr& table, run_input input, run_config config);
  event_stream open_stream(const program_ptr& table, run_input input, stream_mode modes,
                           run_config config, std::size_t buffer_max);

  /// Looks into live runs: their actors, which may be told to exit.
  [[nodiscard]] engine_debug debug();

private:
  template <class State>
  struct completion : on_cache_lines {
    std::function<void(run_result<State>)> done;
    void operator()(raw_result raw) const {
      auto state = std::optional<State>{};
      try {
        state = state_of<State>(raw);
      } catch (...) { // the copy of a state is user code, and the callback is called all the same
        note_copy_failure(raw);
      }
      done({std::move(state), std::move(raw.error), std::move(raw.stats), std::move(raw.asked)});
    }
  };
  /// In a handler: the state of a run could not be copied.
  static void note_copy_failure(raw_result& raw);

  template <class State>
  static std::optional<State> state_of(raw_result& raw) {
    if (!raw.state)
      return std::nullopt;
    auto& block = static_cast<struct_block<State>&>(*raw.state);
    if (raw.state->use_count() == 1)
      return std::move(block.state);
    return block.state;
  }
  [[noreturn]] static void throw_run_error(run_error e);
  [[noreturn]] static void throw_interrupted(const std::string& graph,
                                             const std::vector<interrupt>& pending);

  std::shared_ptr<engine_core> core_;
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/debug.hpp>
#include <superstep/actors/detail/event_stream.hpp>
#include <superstep/actors/run.hpp>
#include <superstep/actors/stream.hpp>
#include <superstep/base/detail/cache_lines.hpp>
#include <superstep/runtime/graph.hpp>
#include <superstep/runtime/run_config.hpp>
#include <superstep/runtime/snapshot.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

namespace detail {
class engine_core;
} // namespace detail

/// Options of an engine: threads, and the size of its pools.
struct engine_options {
  /// Number of lanes. Each owns its runs and is served by one thread. 0: one per core.
  std::size_t workers = 0;
  /// Polling interval of the watcher. A body that still runs after two polls keeps its thread, and
  /// another thread takes over the lane.
  std::chrono::microseconds watcher_tick{500};
  /// The largest number of threads. At the bound a lane waits for its body to return.
  std::size_t threads_max = 256;
  /// Time after which an unused thread ends; one spare thread always remains.
  std::chrono::milliseconds thread_idle_time{5'000};
  /// Whether actors are reused from pools. Otherwise each run creates its own.
  bool pool_actors = true;
  /// The largest number of idle actors in a lane's pool.
  std::size_t pooled_actors_max = 65'536;
  /// Number of super-steps, or of tasks, of one run after which the lane serves its other runs.
  std::uint32_t steps_per_turn = 1'024;
  /// The longest time that the destructor waits for blocking bodies. After it their threads are
  /// detached.
  std::chrono::milliseconds shutdown_grace{5'000};
};

namespace detail {
struct engine_access;
} // namespace detail

/// Runs graphs: typed graphs, channel graphs, JSON graphs and agents, with the same member
/// functions. Owns the threads; one engine serves a whole process and any number of graphs.
///
/// The input of a run is one of these:
/// - a whole state, on a new thread only: on a thread with checkpoints it would reset every field
///   without a reducer, so the run fails with graph_errc::used_thread;
/// - an update, or a projection: a struct with some of the fields of the state;
/// - resume, to resume the thread, or a command, to write to it and choose the next nodes;
/// - text, a message or a list of messages, if the state has the field `messages`;
/// - a JSON object for a JSON graph, and channel_writes for a channel graph.
///
/// @par Threads
/// All members may be called from any thread. Callbacks run on a thread of the engine and must be
/// short: they may start further runs, they must not block. An exception that a callback throws is
/// written to standard error and discarded.
///
/// The destructor cancels the runs that have not ended. A run submitted meanwhile fails with
/// graph_errc::cancelled.
class engine {
public:
  /// Starts the engine's threads. If the system does not allow all of them, the engine has fewer
  /// lanes than requested. Throws std::system_error if it does not allow even one lane.
  explicit engine(engine_options options = {});
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;
  ~engine();

  /// Runs a graph until it ends or is interrupted. Blocks the caller: a body calls
  /// runtime::invoke() instead.
  ///
  /// Throws graph_error if the run fails. An interrupt is not a failure: the result then has the
  /// pending interrupts, and the thread (run_config::thread_id) can be resumed.
  template <class State, run_input_of<State> Input = detail::default_input<State>>
  run_result<State> invoke(const compiled_graph<State>& graph, Input input,
                           run_config config = {}) {
    auto result = detail::typed_result(detail::adapter_of(graph),
                                       wait_for(detail::program_of(graph),
                                                detail::input_for(graph, std::move(input)),
                                                std::move(config)));
    if (result.error)
      throw_run_error(std::move(*result.error));
    return result;
  }

  /// Runs a graph as invoke() does, but returns the error of a failed run, with its last state, in
  /// the result. Does not throw graph_error.
  template <class State, run_input_of<State> Input = detail::default_input<State>>
  [[nodiscard]] run_result<State> try_invoke(const compiled_graph<State>& graph, Input input,
                                             run_config config = {}) {
    try {
      return detail::typed_result(detail::adapter_of(graph),
                                  wait_for(detail::program_of(graph),
                                           detail::input_for(graph, std::move(input)),
                                           std::move(config)));
    } catch (const graph_error& e) { // the input or the configuration is invalid
      return {.status = run_status::failed, .error = e.details()};
    }
  }

  /// Starts a run and returns at once. `done` is called exactly once, on a thread of the engine,
  /// whatever happens. Throws graph_error if the input or the configuration is invalid; `done` is
  /// not called then.
  template <class State, run_input_of<State> Input = detail::default_input<State>>
  run_handle submit(const compiled_graph<State>& graph, Input input, run_config config,
                    std::type_identity_t<std::function<void(run_result<State>)>> done) {
    return start(detail::program_of(graph), detail::input_for(graph, std::move(input)),
                 std::move(config),
                 completion<State>{{}, std::move(done), detail::adapter_of(graph)});
  }

  /// Starts a run and returns its events as they happen.
  /// @param modes the events to return, combined with |
  /// @param buffer_max number of events that may be unread; at this bound the run pauses before its
  /// next super-step until the reader has caught up
  template <class State, run_input_of<State> Input = detail::default_input<State>>
  [[nodiscard]] event_range<State> stream(const compiled_graph<State>& graph, Input input,
                                          stream_mode modes, run_config config = {},
                                          std::size_t buffer_max = 1'024) {
    const auto& program = detail::program_of(graph);
    return event_range<State>{detail::adapter_of(graph), program,
                              open_stream(program, detail::input_for(graph, std::move(input)),
                                          modes, std::move(config), buffer_max)};
  }

  /// Runs a graph once for each input and returns the results in the order of the inputs. Blocks.
  /// Does not throw for runs that fail: see run_result::error.
  /// @param runs_max the largest number of runs at once
  template <class State, run_input_of<State> Input>
  [[nodiscard]] std::vector<run_result<State>>
  batch(const compiled_graph<State>& graph, std::vector<Input> inputs,
        const run_config& config = {}, std::size_t runs_max = 256) {
    auto results = std::vector<run_result<State>>(inputs.size());
    batch(
        graph, std::move(inputs), config,
        [&results](std::size_t i, run_result<State> r) { results[i] = std::move(r); }, runs_max);
    return results;
  }
  /// Runs a graph once for each input and calls `done(index, result)` as each run ends, on threads
  /// of the engine. Blocks until all have ended.
  /// @param runs_max the largest number of runs at once
  template <class State, run_input_of<State> Input>
  void batch(const compiled_graph<State>& graph, std::vector<Input> inputs,
             const run_config& config,
             std::type_identity_t<std::function<void(std::size_t, run_result<State>)>> done,
             std::size_t runs_max = 256) {
    run_each(inputs.size(), runs_max, [&](std::size_t i, const std::function<void()>& ended) {
      try {
        submit(graph, std::move(inputs[i]), config, [&done, i, ended](run_result<State> r) {
          const auto at_end = batch_end{ended};
          done(i, std::move(r));
        });
      } catch (const graph_error& e) { // the input or the configuration is invalid
        done(i, {.status = run_status::failed, .error = e.details()});
        ended();
      }
    });
  }

  /// Returns the state of a thread (run_config::thread_id), at its newest checkpoint or at
  /// thread_options::checkpoint_id. Without a checkpoint id it is the live state, to which the
  /// outputs of an unfinished step's tasks are applied.
  /// @param with_subgraphs whether to set task_snapshot::nested for tasks that are graphs
  ///
  /// Throws graph_error if the graph has no checkpointer, if there is no such checkpoint, or if an
  /// output does not fit its channel.
  template <class State>
  [[nodiscard]] snapshot<State> get_state(const compiled_graph<State>& graph,
                                          const run_config& config, bool with_subgraphs = false) {
    return {detail::adapter_of(graph),
            detail::get_state(detail::program_of(graph), place_of(config), with_subgraphs)};
  }

  /// Returns the checkpoints of a thread, newest first, each as it was before the step that follows
  /// it. Throws graph_error.
  /// @param query selects the checkpoints, and bounds their number
  template <class State>
  [[nodiscard]] std::vector<snapshot<State>> get_state_history(const compiled_graph<State>& graph,
                                                               const run_config& config,
                                                               const checkpoint_query& query = {}) {
    auto out = std::vector<snapshot<State>>{};
    for (auto& one : state_history(detail::program_of(graph), place_of(config), query))
      out.emplace_back(detail::adapter_of(graph), std::move(one));
    return out;
  }

  /// Writes to a thread as if a node had returned these values: the node's edges and branches fire
  /// on the caller's thread, and what was pending before is discarded.
  /// @param values an update or a projection, a JSON object, or channel_writes
  /// @param as_node the node whose result the values count as; empty: the node that ran last.
  /// START: an input of the graph. END: nothing is left to run.
  /// @returns the id of the new checkpoint, which is saved when this returns
  ///
  /// Waits up to edit_timeout for a run that has the thread. Throws graph_error, and
  /// checkpoint_error if the checkpoint could not be saved; then nothing is changed. A body must
  /// not update the thread of its own run.
  template <class State, edit_of<State> Values = typename detail::state_adapter<State>::update_type>
  std::string update_state(const compiled_graph<State>& graph, const run_config& config,
                           Values values, std::string as_node = {}) {
    return detail::update_state(
        detail::program_of(graph), place_of(config),
        detail::edit_for(graph, state_update<State>{std::move(values), std::move(as_node)}));
  }
  /// Writes to a thread as update_state() does, with every option of a state_update.
  /// @param timeout the longest wait for a run that has the thread; 0: does not wait
  template <class State>
  std::string update_state(const compiled_graph<State>& graph, const run_config& config,
                           state_update<State> change,
                           std::chrono::milliseconds timeout = edit_timeout) {
    return detail::update_state(detail::program_of(graph), place_of(config),
                                detail::edit_for(graph, std::move(change)), timeout);
  }
  /// Writes several updates to a thread. Each inner list is one super-step, whose updates are
  /// applied together, in the order of the list. In a list of several, each update names its node.
  /// @returns the id of the last checkpoint
  template <class State>
  std::string bulk_update_state(const compiled_graph<State>& graph, const run_config& config,
                                std::vector<std::vector<state_update<State>>> steps,
                                std::chrono::milliseconds timeout = edit_timeout) {
    auto edits = std::vector<std::vector<detail::state_edit>>{};
    for (auto& step : steps) {
      auto& together = edits.emplace_back();
      for (auto& change : step)
        together.push_back(detail::edit_for(graph, std::move(change)));
    }
    return detail::bulk_update_state(detail::program_of(graph), place_of(config), std::move(edits),
                                     timeout);
  }
  /// Copies a checkpoint of a thread, as the start of a branch.
  /// @returns the id of the copy
  template <class State>
  std::string copy_state(const compiled_graph<State>& graph, const run_config& config,
                         std::chrono::milliseconds timeout = edit_timeout) {
    return detail::copy_state(detail::program_of(graph), place_of(config), timeout);
  }

  /// Returns a view of the live runs and their actors, which can be sent an exit.
  [[nodiscard]] engine_debug debug();

private:
  friend struct detail::engine_access;

  template <class State>
  struct completion : on_cache_lines {
    std::function<void(run_result<State>)> done;
    [[no_unique_address]] detail::state_adapter<State> adapter;
    void operator()(detail::raw_result raw) const {
      done(detail::typed_result(adapter, std::move(raw)));
    }
  };
  /// Counts a run of a batch as ended, even if its callback throws.
  struct batch_end {
    const std::function<void()>& ended;
    explicit batch_end(const std::function<void()>& f) noexcept : ended{f} {}
    batch_end(const batch_end&) = delete;
    batch_end& operator=(const batch_end&) = delete;
    ~batch_end() { ended(); }
  };

  run_handle start(const detail::program_ptr& program, detail::run_input input, run_config config,
                   std::function<void(detail::raw_result)> done,
                   stream_mode modes = stream_mode::none,
                   std::shared_ptr<detail::event_sink> sink = nullptr);
  detail::raw_result wait_for(const detail::program_ptr& program, detail::run_input input,
                              run_config config);
  detail::event_stream open_stream(const detail::program_ptr& program, detail::run_input input,
                                   stream_mode modes, run_config config, std::size_t buffer_max);
  /// Calls `begin(i, ended)` for each index below `count`, and keeps at most `at_once_max` of them
  /// between `begin` and `ended`. If a call throws, waits for the earlier ones and rethrows.
  static void run_each(std::size_t count, std::size_t at_once_max,
                       const std::function<void(std::size_t, const std::function<void()>&)>& begin);
  [[nodiscard]] static detail::thread_place place_of(const run_config& config);
  [[noreturn]] static void throw_run_error(run_error e);

  std::shared_ptr<detail::engine_core> core_;
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/debug.hpp>
#include <superstep/actors/detail/event_stream.hpp>
#include <superstep/actors/run.hpp>
#include <superstep/actors/stream.hpp>
#include <superstep/base/detail/cache_lines.hpp>
#include <superstep/base/detail/never.hpp>
#include <superstep/runtime/graph.hpp>
#include <superstep/runtime/run_config.hpp>
#include <superstep/threads/snapshot.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

namespace detail {
class engine_core;
} // namespace detail

/// The behaviour of functions that start a run while engine_options::runs_max runs have not ended.
enum class when_full : std::uint8_t {
  wait,   ///< it blocks the calling thread until a run ends
  refuse, ///< it does not start the run, which fails with graph_errc::engine_full
};

/// Options of an engine: the number of its threads, and the limits of its pools and runs.
struct engine_options {
  /// Number of lanes. A lane owns some of the runs and executes their bodies on one thread at a
  /// time. 0: one lane per core.
  std::size_t workers = 0;
  /// The largest number of cores that the engine's threads use at a time, including those to which
  /// long bodies move; 0: all that the process may use. Engines of one process get different cores
  /// while unused ones are left. Threads that bodies start are limited too; those of an io_runtime
  /// and of checkpointers are not.
  std::size_t cores = 0;
  /// Polling interval of the watcher, at least 1 us. If a lane is in the same body at two polls,
  /// the body keeps the thread, and another thread serves the lane.
  std::chrono::microseconds watcher_tick{500};
  /// The largest number of threads, at least twice the number of lanes; smaller values are raised.
  /// If all threads are in use, a lane waits until its body returns.
  std::size_t threads_max = 256;
  /// Time after which a body that still runs on a thread of its own counts as hung, greater than 0.
  /// The threads of hung bodies do not count against threads_max; see hung_threads_max.
  std::chrono::milliseconds hung_after{60'000};
  /// The largest number of threads of hung bodies that are replaced. If more bodies hang, fewer
  /// threads than threads_max are left for the others. The engine writes a warning to standard
  /// error when the first body hangs, and when this limit is reached. engine_debug::hung_threads()
  /// returns the number of hung bodies.
  std::size_t hung_threads_max = 64;
  /// Time after which an unused thread ends, not negative. One spare thread always remains.
  std::chrono::milliseconds thread_idle_time{5'000};
  /// Whether actors are reused from pools. Otherwise each run creates its own actors.
  bool pool_actors = true;
  /// The largest number of idle actors in the pool of a lane.
  std::size_t pooled_actors_max = 65'536;
  /// The number of super-steps of one run, or of tasks that it has started, after which the lane
  /// serves its other runs. At least 1. If tasks are short, the lane also does so after about 2 ms.
  std::uint32_t steps_per_turn = 1'024;
  /// The longest time that the engine's destructor waits for blocking bodies. When it has passed,
  /// the threads of the bodies are detached. Not negative.
  std::chrono::milliseconds shutdown_grace{5'000};
  /// The largest number of runs that have not ended, at least 1; unset: no limit. Each of them
  /// occupies memory, even if it only waits. Runs that bodies start (runtime::invoke()) do not
  /// count.
  std::optional<std::size_t> runs_max = std::nullopt;
  /// The behaviour if runs_max is reached. A run that is started on a thread of the engine, such as
  /// by the callback of a run, never waits: with when_full::wait it starts above the limit.
  when_full on_full = when_full::wait;
};

namespace detail {
struct engine_access;
} // namespace detail

/// Runs compiled graphs of every kind (graph<State>, channel_graph, json_graph, agents) with the
/// same member functions. Owns the threads. One engine serves a whole process and any number of
/// graphs.
///
/// The input of a run is one of these:
/// - a whole state, on a new thread only. On a thread with checkpoints it would reset every field
///   without a reducer, so the run fails with graph_errc::used_thread.
/// - an update, or a projection: a struct with some of the fields of the state
/// - resume, to resume the thread, or a command, to write to it and choose the next nodes
/// - a text, a message or a list of messages, if the state has the field `messages`
/// - a JSON object for a JSON graph, and channel_writes for a channel graph
///
/// Functions that take an input throw graph_error if it names an unknown node, an unknown channel
/// or a channel of another graph, unless they report errors in the result.
///
/// @par Threads
/// All members may be called from any thread, except that a body or a callback must not call one
/// that blocks. Callbacks run on a thread of the engine unless stated. They may start further runs,
/// but must be short and must not block. An exception that a callback throws on a thread of the
/// engine is written to standard error and discarded.
/// @par Lifetime
/// A run keeps the graph, its configuration and its callback alive until it has ended. Results and
/// snapshots may outlive the engine.
class engine {
public:
  /// Starts the engine's threads. If the system does not allow all of them, the engine has fewer
  /// lanes than requested. Throws std::system_error if it does not allow even one lane, and
  /// std::invalid_argument for options out of range.
  explicit engine(engine_options options = {});
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;
  /// Cancels the runs that have not ended and waits for the engine's threads, at most
  /// engine_options::shutdown_grace. Threads whose bodies still block are then detached. Runs that
  /// callbacks submit in the meantime fail with graph_errc::cancelled. The callbacks of runs that
  /// have not ended when the grace period is over are not called. Must not be called on a thread of
  /// the engine.
  ~engine();

  /// Runs a graph until it ends, fails or is interrupted. Blocks the calling thread; a body calls
  /// runtime::invoke() instead.
  ///
  /// Throws graph_error if the run fails, or if the input or the configuration is invalid. If a
  /// body threw, its exception is nested in it. An interrupt is not a failure: the result then has
  /// the pending interrupts, and the thread (run_config::thread_id) can be resumed.
  /// @param input see the class
  /// @param config the options of the run, which are copied; see run_config
  /// @returns the last state of the graph, the pending interrupts and counters
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

  /// Runs a graph like invoke(), but reports a failure in the result: run_result::error is set, and
  /// run_result::state is the state after the last finished step. Does not throw graph_error, not
  /// even for an invalid input or configuration. Blocks the calling thread.
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

  /// Starts a run and returns without waiting for it. Throws graph_error if the input is invalid or
  /// recursion_limit is 0; `done` is not called then.
  ///
  /// Otherwise `done` is called exactly once with the result, also if the run fails or is
  /// cancelled. It is called on a thread of the engine or of the checkpointer, possibly before
  /// submit() returns. If the engine refuses the run (engine_options::on_full), `done` is called on
  /// the calling thread. If the state cannot be moved or copied into a result, and the default
  /// constructor of State throws too, there is no result: `done` is not called, and the exception
  /// is written to standard error.
  /// @returns a handle for cancelling or draining the run; it may be discarded
  template <class State, run_input_of<State> Input = detail::default_input<State>>
  run_handle submit(const compiled_graph<State>& graph, Input input, run_config config,
                    std::type_identity_t<std::function<void(run_result<State>)>> done) {
    return start(detail::program_of(graph), detail::input_for(graph, std::move(input)),
                 std::move(config),
                 completion<State>{{}, std::move(done), detail::adapter_of(graph)});
  }

  /// Starts a run and returns its events as they happen (`stream()` in langgraph/pregel/main.py).
  /// Does not block. Throws graph_error if the input is invalid or recursion_limit is 0. The range
  /// reports a failure of the run.
  /// @param modes the kinds of events to return, combined with |
  /// @param buffer_max number of unread events at which the run pauses before its next super-step.
  /// It continues when at most half as many are unread.
  /// @returns a range that must be read or destroyed; it may outlive the engine
  template <class State, run_input_of<State> Input = detail::default_input<State>>
  [[nodiscard]] event_range<State> stream(const compiled_graph<State>& graph, Input input,
                                          stream_mode modes, run_config config = {},
                                          std::size_t buffer_max = 1'024) {
    const auto& program = detail::program_of(graph);
    return event_range<State>{detail::adapter_of(graph), program,
                              open_stream(program, detail::input_for(graph, std::move(input)),
                                          modes, std::move(config), buffer_max)};
  }
  /// Starts a run and returns its `updates` events, which is LangGraph's default for a graph;
  /// otherwise as the overload above.
  template <class State, run_input_of<State> Input = detail::default_input<State>>
  [[nodiscard]] event_range<State> stream(const compiled_graph<State>& graph, Input input,
                                          run_config config = {}) {
    return stream(graph, std::move(input), stream_mode::updates, std::move(config));
  }

  /// Does not compile: the graph is not compiled. @{
  template <class State, class... Rest>
  run_result<State> invoke(const graph<State>&, const Rest&...) {
    static_assert(detail::never<State>, "compile the graph: invoke(graph.compile(), input)");
    return {};
  }
  template <class State, class... Rest>
  run_result<State> try_invoke(const graph<State>&, const Rest&...) {
    static_assert(detail::never<State>, "compile the graph: try_invoke(graph.compile(), input)");
    return {};
  }
  template <class State, class Input, class Done>
  void submit(const graph<State>&, const Input&, const run_config&, const Done&) {
    static_assert(detail::never<State>, "compile the graph: submit(graph.compile(), …)");
  }
  template <class State, class... Rest>
  void stream(const graph<State>&, const Rest&...) {
    static_assert(detail::never<State>, "compile the graph: stream(graph.compile(), …)");
  }
  /// @}

  /// Does not compile: the graph does not accept the input. @{
  template <class State, class Input>
    requires(!run_input_of<Input, State>)
  run_result<State> invoke(const compiled_graph<State>&, Input, const run_config& = {}) {
    detail::explain_input<Input>();
    return {};
  }
  template <class State, class Input>
    requires(!run_input_of<Input, State>)
  run_result<State> try_invoke(const compiled_graph<State>&, Input, const run_config& = {}) {
    detail::explain_input<Input>();
    return {};
  }
  template <class State, class Input, class Done>
    requires(!run_input_of<Input, State>)
  void submit(const compiled_graph<State>&, Input, const run_config&, const Done&) {
    detail::explain_input<Input>();
  }
  template <class State, class Input>
    requires(!run_input_of<Input, State>)
  void stream(const compiled_graph<State>&, Input, stream_mode, const run_config& = {},
              std::size_t = 0) {
    detail::explain_input<Input>();
  }
  template <class State, class Input>
    requires(!run_input_of<Input, State>)
  void stream(const compiled_graph<State>&, Input, const run_config& = {}) {
    detail::explain_input<Input>();
  }
  /// @}

  /// Runs a graph once for each input and returns the results in the order of the inputs. Blocks
  /// until all runs have ended. Failures, also of invalid inputs, are reported in
  /// run_result::error.
  /// @param inputs one input for each run
  /// @param config the options of every run; with a thread_id, all runs use the same thread, by
  /// default one at a time (see thread_options::on_busy)
  /// @param runs_max the largest number of runs at the same time; 0 counts as 1
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
  /// Runs a graph once for each input and calls `done(index, result)` when a run has ended. Blocks
  /// until all runs have ended. Several threads may call `done` at the same time: threads of the
  /// engine or of the checkpointer, and the calling thread for an invalid input. If `done` throws
  /// on the calling thread, batch() starts no further runs, waits for the others and rethrows. As
  /// with submit(), `done` is not called for a run without a result.
  /// @param inputs one input for each run
  /// @param config the options of every run; see the overload above
  /// @param runs_max the largest number of runs at the same time; 0 counts as 1
  template <class State, run_input_of<State> Input>
  void batch(const compiled_graph<State>& graph, std::vector<Input> inputs,
             const run_config& config,
             std::type_identity_t<std::function<void(std::size_t, run_result<State>)>> done,
             std::size_t runs_max = 256) {
    run_each(inputs.size(), runs_max, [&](std::size_t i, const std::function<void()>& ended) {
      try {
        start(detail::program_of(graph), detail::input_for(graph, std::move(inputs[i])),
              run_config{config}, [&graph, &done, &ended, i](detail::raw_result raw) {
                const auto at_end = batch_end{ended};
                done(i, detail::typed_result(detail::adapter_of(graph), std::move(raw)));
              });
      } catch (const graph_error& e) { // the input or the configuration is invalid
        done(i, {.status = run_status::failed, .error = e.details()});
        ended();
      }
    });
  }

  /// Returns the state of a thread (`get_state()` in langgraph/pregel/main.py). Reads from the
  /// graph's checkpointer (compile_options::checkpointer) on the calling thread.
  ///
  /// Throws graph_error if the graph has no checkpointer, if the thread has no such checkpoint, or
  /// if the writes of an unfinished step do not fit their channels. Throws checkpoint_error if the
  /// checkpoint cannot be read. A thread without checkpoints gives a snapshot without values.
  /// @param config names the thread (thread_id), and optionally a checkpoint and a subgraph
  /// (thread_options). Without a checkpoint id, the newest checkpoint is used, and the outputs of
  /// tasks that have ended since are applied to it.
  /// @param with_subgraphs whether to set task_snapshot::nested for tasks whose node is a subgraph
  template <class State>
  [[nodiscard]] snapshot<State> get_state(const compiled_graph<State>& graph,
                                          const run_config& config, bool with_subgraphs = false) {
    return {detail::adapter_of(graph),
            detail::get_state(detail::program_of(graph), place_of(config), with_subgraphs)};
  }

  /// Returns the states of a thread at its checkpoints, newest first (`get_state_history()` in
  /// langgraph/pregel/main.py). Each shows the tasks of the step that follows it. Throws as
  /// get_state() does; a checkpoint_id in `config` has no effect.
  /// @param config names the thread (thread_id), and optionally a subgraph (checkpoint_ns)
  /// @param query selects the checkpoints, and limits their number
  template <class State>
  [[nodiscard]] std::vector<snapshot<State>> get_state_history(const compiled_graph<State>& graph,
                                                               const run_config& config,
                                                               const checkpoint_query& query = {}) {
    auto out = std::vector<snapshot<State>>{};
    for (auto& one : state_history(detail::program_of(graph), place_of(config), query))
      out.emplace_back(detail::adapter_of(graph), std::move(one));
    return out;
  }

  /// Writes to a thread as if a node had returned these values (`update_state()` in
  /// langgraph/pregel/main.py). The node's edges fire, and its branches choose the next nodes;
  /// their routers are called on the calling thread. Pending tasks are discarded, except those of
  /// complete joins and of deferred nodes that are due. Uses the graph's checkpointer.
  ///
  /// Waits up to edit_timeout for a run that holds the thread, then throws
  /// checkpoint_error{in_use}. Throws graph_error if the update is invalid, if the graph has no
  /// checkpointer, or if the thread has no such checkpoint. Throws checkpoint_error if the
  /// checkpoint could not be saved, and what a router throws. A body must not update the thread of
  /// its own run.
  /// @param config names the thread (thread_id), and optionally a checkpoint and a subgraph
  /// (thread_options)
  /// @param values an update or a projection, a JSON object, or channel_writes
  /// @param as_node the node whose result the values count as. Empty: the node that ran last; an
  /// update is not a run. START: the values are an input of the graph.
  /// @returns the id of the new checkpoint, which has been saved
  template <class State, edit_of<State> Values = typename detail::state_adapter<State>::update_type>
  std::string update_state(const compiled_graph<State>& graph, const run_config& config,
                           Values values, std::string as_node = {}) {
    return detail::update_state(
        detail::program_of(graph), place_of(config),
        detail::edit_for(graph, state_update<State>{std::move(values), std::move(as_node)}));
  }
  /// Writes to a thread with all options of a state_update; otherwise as the overload above.
  /// @param timeout the longest wait for a run that holds the thread; 0: does not wait
  template <class State>
  std::string update_state(const compiled_graph<State>& graph, const run_config& config,
                           state_update<State> change,
                           std::chrono::milliseconds timeout = edit_timeout) {
    return detail::update_state(detail::program_of(graph), place_of(config),
                                detail::edit_for(graph, std::move(change)), timeout);
  }
  /// Writes several updates to a thread (`bulk_update_state()` in langgraph/pregel/main.py). Waits
  /// and throws as update_state() does. If one of the updates is invalid, none is saved.
  /// @param steps each inner list is one super-step. Its updates are applied together, in the order
  /// of the list. If it has several updates, each must set as_node. Neither list may be empty.
  /// @param timeout the longest wait for a run that holds the thread; 0: does not wait
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
  /// Copies a checkpoint of a thread to a new one, from which the thread continues. Waits and
  /// throws as update_state() does; also throws graph_error{unknown_checkpoint} if the thread has
  /// no checkpoint.
  /// @param config names the thread (thread_id), the checkpoint (thread_options::checkpoint_id;
  /// empty: the newest), and optionally a subgraph (thread_options::checkpoint_ns)
  /// @param timeout the longest wait for a run that holds the thread; 0: does not wait
  /// @returns the id of the copy
  template <class State>
  std::string copy_state(const compiled_graph<State>& graph, const run_config& config,
                         std::chrono::milliseconds timeout = edit_timeout) {
    return detail::copy_state(detail::program_of(graph), place_of(config), timeout);
  }

  /// Returns an object that lists the runs that have not ended, and their actors. It may outlive
  /// the engine.
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
  /// Counts a run of a batch as ended, even if its callback or a constructor of its state throws.
  struct batch_end {
    const std::function<void()>& ended;
    explicit batch_end(const std::function<void()>& f) noexcept : ended{f} {}
    batch_end(const batch_end&) = delete;
    batch_end& operator=(const batch_end&) = delete;
    ~batch_end() { ended(); }
  };

  run_handle start(const detail::program_ptr& program, detail::run_input&& input,
                   run_config&& config, std::function<void(detail::raw_result)>&& done,
                   stream_mode modes = stream_mode::none,
                   std::shared_ptr<detail::event_sink> sink = nullptr);
  detail::raw_result wait_for(const detail::program_ptr& program, detail::run_input input,
                              run_config config);
  detail::event_stream open_stream(const detail::program_ptr& program, detail::run_input input,
                                   stream_mode modes, run_config config, std::size_t buffer_max);
  /// Calls `begin(i, ended)` for each index below `count`. An item is in progress until its `ended`
  /// is called; at most `at_once_max` are in progress. If `begin` throws, waits for the earlier
  /// items and rethrows.
  static void run_each(std::size_t count, std::size_t at_once_max,
                       const std::function<void(std::size_t, const std::function<void()>&)>& begin);
  [[nodiscard]] static detail::thread_place place_of(const run_config& config);
  [[noreturn]] static void throw_run_error(run_error e);

  std::shared_ptr<detail::engine_core> core_;
};

} // namespace superstep

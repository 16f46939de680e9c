// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/runtime/graph.hpp>
#include <superstep/runtime/inputs.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace superstep {

struct state_snapshot;

/// A task of the super-step that follows a checkpoint (`PregelTask` in langgraph/types.py).
struct task_snapshot {
  std::string node;                  ///< name of the node
  std::string task;                  ///< path of the task, e.g. `tools#3` for the fourth Send
  std::optional<write_list> result;  ///< writes of the task if it has ended; see written()
  std::vector<interrupt> interrupts; ///< its pending interrupts
  std::string error;                 ///< why the task failed; empty if it did not fail
  /// The exception of a task that failed; a restored_error if the checkpointer read it from
  /// storage.
  std::exception_ptr cause;
  /// The state of the subgraph that the task runs. Set by engine::get_state() if its parameter
  /// with_subgraphs is true.
  std::shared_ptr<const state_snapshot> nested;
  /// The namespace of the checkpoints of the subgraph that the task runs; empty for other tasks.
  std::string nested_ns;
};

/// The state of a thread at a checkpoint, without the type of the state; snapshot adds it. Copies
/// share the checkpoint and the values. A const object may be read from any thread.
struct state_snapshot {
  detail::program_ptr table;        ///< the program of the graph
  checkpoint_ptr checkpoint;        ///< null if the thread has no checkpoint
  state_view state;                 ///< the values; null if `checkpoint` is null
  std::vector<task_snapshot> tasks; ///< tasks of the next super-step: START, Sends, then nodes
  std::vector<std::string> next;    ///< nodes that have not run yet, one entry per task
  std::string thread_id{};          ///< the thread
  std::string ns{};                 ///< the subgraph, as in task_snapshot::nested_ns; else empty
  /// Returns a configuration that names the thread, the subgraph (`ns`) and this checkpoint. A run
  /// with it continues from the checkpoint (time travel); engine::update_state() with it adds a
  /// checkpoint that follows this one. Later checkpoints of the thread are kept. Without a
  /// checkpoint, it names only the thread and the subgraph. The counterpart of
  /// `StateSnapshot.config` in langgraph/types.py.
  [[nodiscard]] run_config config() const;
  /// Returns the pending interrupts of all tasks, in the order of `tasks`.
  [[nodiscard]] std::vector<interrupt> interrupts() const;
  /// Returns the values as the state struct of their graph; for snapshots of subgraphs, whose state
  /// type differs. Null if the snapshot has no values. Throws wrong_type if the graph has another
  /// state type. Valid as long as the snapshot.
  template <class State>
  [[nodiscard]] const State* as() const& {
    const auto* found = state_if<State>(state.get());
    if (state && found == nullptr) {
      const auto& held = *state; // clang warns about calls inside typeid
      detail::throw_wrong_type("the state of the thread", &typeid(held),
                               typeid(struct_block<State>));
    }
    return found;
  }
  /// Deleted, because the pointer would dangle.
  template <class State>
  const State* as() const&& = delete;
};

/// The default limit of the time that an edit of a thread waits for a run that holds the thread.
inline constexpr auto edit_timeout = std::chrono::milliseconds{30'000};

namespace detail {

/// Identifies a thread, and a checkpoint and namespace in it. An empty checkpoint_id means the
/// newest checkpoint, an empty `ns` the outermost graph.
struct thread_place {
  std::string thread_id{};
  std::string checkpoint_id{};
  std::string ns{};
  std::shared_ptr<const json::object> metadata{}; ///< stored with an update; null: none
};

/// Returns the state of a thread. Without a checkpoint id, the outputs of tasks that have ended in
/// an unfinished step are applied to it. Throws graph_error if the graph has no checkpointer, if
/// there is no such checkpoint, or if the writes of the step do not fit their channels.
[[nodiscard]] state_snapshot get_state(const program_ptr&, const thread_place&,
                                       bool with_subgraphs = false);

/// Returns the states of a thread at its checkpoints, newest first. Each shows the tasks of the
/// step that follows it. Throws graph_error if the graph has no checkpointer, or if the writes of a
/// command do not fit their channels, and checkpoint_error if a checkpoint cannot be read.
[[nodiscard]] std::vector<state_snapshot> state_history(const program_ptr&, const thread_place&,
                                                        const checkpoint_query& = {});

/// An edit of a thread's state from outside a run.
struct state_edit {
  /// The values to write. Not set: only the node's edges and branches fire.
  std::optional<write_list> values{};
  /// The node whose result the values count as. Empty: the node that ran last. START: an input of
  /// the graph. END, without values: nothing is left to run.
  std::string as_node{};
  /// Nodes to activate in addition to those that the node's edges and branches choose (LangGraph's
  /// `Command.goto`).
  std::vector<std::string> go_to{};
  thin_list<send> sends{};
  /// Additional input of the node's branches; see node_output::for_routers.
  std::shared_ptr<const void> for_routers{};
};

/// Writes to a thread as if a node had just run. The node's edges fire, and its branches choose the
/// next nodes; their routers are called on the calling thread. Pending tasks are discarded, except
/// those of complete joins and of deferred nodes that are due. Returns the id of the new
/// checkpoint, which is durable if the checkpointer is.
///
/// Throws graph_error if the edit is invalid, and checkpoint_error if the checkpoint could not be
/// saved; no checkpoint is then added. An edit has exclusive access to the thread, like a run. If a
/// run still holds the thread after `timeout`, it throws checkpoint_error{in_use}; with 0 it does
/// not wait. A body must not edit the thread of its own run.
std::string update_state(const program_ptr&, const thread_place&, state_edit,
                         std::chrono::milliseconds timeout = edit_timeout);

/// Makes several edits. Each inner list is one super-step: its edits are applied together, in the
/// order of the list. If an inner list has several edits, each must set as_node. Returns the id of
/// the last checkpoint. For errors and waiting see update_state(). If an edit is invalid, none is
/// saved.
std::string bulk_update_state(const program_ptr&, const thread_place&,
                              std::vector<std::vector<state_edit>> steps,
                              std::chrono::milliseconds timeout = edit_timeout);

/// Copies a checkpoint, so that the thread continues from the copy. Returns the id of the copy. For
/// errors and waiting see update_state().
std::string copy_state(const program_ptr&, const thread_place&,
                       std::chrono::milliseconds timeout = edit_timeout);

} // namespace detail

/// The state of a thread at a checkpoint; see engine::get_state(). The counterpart of
/// `StateSnapshot` in langgraph/types.py.
template <class State>
struct snapshot : state_snapshot {
  /// Creates a snapshot without values.
  snapshot() = default;
  /// For the library: creates a snapshot of a graph with this type of state, and copies the values.
  /// Programs get snapshots from engine::get_state().
  snapshot(const detail::state_adapter<State>& adapter, state_snapshot erased)
      : state_snapshot{std::move(erased)} {
    if (this->state)
      values.emplace(adapter.read(*this->state));
  }

  /// The values; not set if the thread has no checkpoint.
  std::optional<State> values{};
};

/// One update of a thread from outside a run; see engine::update_state().
template <class State>
struct state_update {
  /// The values to write. Not set: only the node's edges and branches fire.
  std::optional<typename detail::state_adapter<State>::update_type> values{};
  /// The node whose result the values count as. Empty: the node that ran last. START: an input of
  /// the graph. END, without values: nothing is left to run.
  std::string as_node{};
  /// Nodes to activate, and Sends, in addition to those that the node's edges and branches choose.
  destinations go_to{};
};

/// Values that engine::update_state() accepts: an update or a projection. A whole state does not
/// compile, because it would reset every field without a reducer.
template <class Values, class State>
concept edit_of = std::convertible_to<Values, typename detail::state_adapter<State>::update_type> ||
                  projection_of<Values, State>;

namespace detail {

/// Returns an update without the type of its state. Throws graph_error if it names an unknown node,
/// or a channel of another graph.
template <class State>
[[nodiscard]] state_edit edit_for(const compiled_graph<State>& graph, state_update<State> change) {
  auto out = state_edit{};
  out.as_node = std::move(change.as_node);
  if (change.values) {
    if constexpr (requires { adapter_of(graph).seen_by_branches(*change.values); })
      out.for_routers = adapter_of(graph).seen_by_branches(*change.values);
    out.values = adapter_of(graph).edit(std::move(*change.values));
  }
  auto targets = node_output{};
  for (auto& d : change.go_to)
    std::move(d).add_to(targets, *program_of(graph));
  for (const auto n : targets.targets)
    out.go_to.push_back(program_of(graph)->node(n).name);
  out.sends = std::move(targets.sends);
  return out;
}

} // namespace detail
} // namespace superstep

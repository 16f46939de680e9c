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

/// A task of the step that follows a checkpoint.
struct task_snapshot {
  std::string node;
  std::string task;                 ///< its path, e.g. `tools#3`
  std::optional<write_list> result; ///< its writes; set if it has ended
  std::vector<interrupt> interrupts;
  std::string error; ///< why it failed; empty if it did not
  std::exception_ptr cause;
  /// For the task of a subgraph, if subgraphs were requested: the state of the subgraph.
  std::shared_ptr<const state_snapshot> nested;
  std::string nested_ns; ///< for the task of a subgraph: the namespace of its checkpoints
};

/// The state of a thread at a checkpoint, without its type; see snapshot for the typed one.
struct state_snapshot {
  detail::program_ptr table;
  checkpoint_ptr checkpoint; ///< null: the thread was never used
  state_view state;          ///< the values; null like `checkpoint`
  std::vector<task_snapshot> tasks;
  std::vector<std::string> next; ///< nodes still to run, one entry per task
  /// Returns the pending interrupts of all tasks, in task order.
  [[nodiscard]] std::vector<interrupt> interrupts() const;
  /// Returns the values as the struct of their graph, for snapshots of nested graphs; null if the
  /// snapshot has no values. Throws wrong_type if the graph has another state. Valid as long as the
  /// snapshot.
  template <class State>
  [[nodiscard]] const State* as() const& {
    const auto* found = state_if<State>(state.get());
    if (state && found == nullptr) {
      const auto& held = *state; // clang warns of calls inside typeid
      detail::throw_wrong_type("the state of the thread", &typeid(held),
                               typeid(struct_block<State>));
    }
    return found;
  }
  template <class State>
  const State* as() const&& = delete; // the pointer would dangle
};

/// The default of the longest time that an edit waits for a run that holds the thread.
inline constexpr auto edit_timeout = std::chrono::milliseconds{30'000};

namespace detail {

/// Identifies a thread, and a checkpoint and namespace in it. Empty ids mean the newest checkpoint
/// and the outermost graph.
struct thread_place {
  std::string thread_id{};
  std::string checkpoint_id{};
  std::string ns{};
};

/// Returns the state of a thread. Without a checkpoint id it is the live state, to which the
/// outputs of an unfinished step's tasks are applied. Throws graph_error if the graph has no
/// checkpointer, if there is no such checkpoint, or if an output does not fit its channel (as the
/// step itself would fail).
[[nodiscard]] state_snapshot get_state(const program_ptr&, const thread_place&,
                                       bool with_subgraphs = false);

/// Returns the checkpoints of a thread, newest first, each as it was before the step that follows
/// it. Throws graph_error if the graph has no checkpointer, and checkpoint_error if a checkpoint
/// cannot be read.
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
  std::vector<send> sends{};
  /// Additional input of the node's branches; see node_output::for_routers.
  std::shared_ptr<const void> for_routers{};
};

/// Writes to a thread as if a node had just run: its edges and branches fire on the caller's
/// thread, and what was pending before is discarded. Returns the id of the new checkpoint, which is
/// durable if the checkpointer is.
///
/// Throws graph_error, and checkpoint_error if the checkpoint could not be saved; then nothing is
/// changed. An edit has exclusive access to the thread, like a run. It waits at most `patience` for
/// a run that holds the thread; with 0 it does not wait and throws checkpoint_errc::in_use. A body
/// must not edit the thread of its own run.
std::string update_state(const program_ptr&, const thread_place&, state_edit,
                         std::chrono::milliseconds patience = edit_timeout);

/// Makes several edits. Each inner list is one super-step, whose edits are applied together, in the
/// order of the list. In a list of several, each edit names its node. Otherwise as update_state().
/// Returns the id of the last checkpoint.
std::string bulk_update_state(const program_ptr&, const thread_place&,
                              std::vector<std::vector<state_edit>> steps,
                              std::chrono::milliseconds patience = edit_timeout);

/// Copies a checkpoint (the newest if none is named), as the start of a branch. Returns the id of
/// the copy.
std::string copy_state(const program_ptr&, const thread_place&,
                       std::chrono::milliseconds patience = edit_timeout);

} // namespace detail

/// The state of a thread at a checkpoint; see engine::get_state(). The counterpart of
/// `StateSnapshot` in langgraph/types.py.
template <class State>
struct snapshot : state_snapshot {
  snapshot() = default;
  snapshot(const detail::state_adapter<State>& adapter, state_snapshot erased)
      : state_snapshot{std::move(erased)} {
    if (this->state)
      values.emplace(adapter.read(*this->state));
  }

  /// The values; empty if the thread was never used.
  std::optional<State> values{};
};

/// One update of a thread from outside; see engine::update_state().
template <class State>
struct state_update {
  /// The values to write. Empty: only the node's edges and branches fire.
  std::optional<typename detail::state_adapter<State>::update_type> values{};
  /// The node whose result the values count as; empty: the one that ran last.
  std::string as_node{};
  /// Where to go besides what the node's edges and branches choose.
  destinations go_to{};
};

/// Values that engine::update_state() accepts: not a whole state, which would reset every field
/// without a reducer.
template <class Values, class State>
concept edit_of = std::convertible_to<Values, typename detail::state_adapter<State>::update_type> ||
                  projection_of<Values, State>;

namespace detail {

/// Returns the erased form of an update. Throws graph_error if it names an unknown node, or a
/// channel of another graph.
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

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

/// One task of the step that follows a checkpoint.
struct task_snapshot {
  std::string node;
  std::string task;                 ///< its path, e.g. `tools#3`
  std::optional<write_list> result; ///< set: it has ended
  std::vector<interrupt> interrupts;
  std::string error; ///< empty: none
  std::exception_ptr cause;
  /// Of a subgraph's task, when it was asked for: where that stands.
  std::shared_ptr<const state_snapshot> nested;
  std::string nested_ns; ///< of a subgraph's task: the namespace of its checkpoints
};

/// A thread as a checkpoint shows it.
struct state_snapshot {
  detail::program_ptr table;
  checkpoint_ptr checkpoint; ///< null: the thread was never used
  state_view state;          ///< the values; null like `checkpoint`
  std::vector<task_snapshot> tasks;
  std::vector<std::string> next; ///< nodes still to run, one entry a task
  [[nodiscard]] std::vector<interrupt> interrupts() const;
  /// The values as the struct of their graph, for snapshots of nested graphs; null if there are
  /// none. Throws wrong_type if the graph has another state. Valid as long as the snapshot.
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

/// How long an edit waits for a run that has its thread.
inline constexpr auto edit_timeout = std::chrono::milliseconds{30'000};

namespace detail {

/// Which thread, and how much of it. Empty ids: the newest checkpoint, the outermost graph.
struct thread_place {
  std::string thread_id{};
  std::string checkpoint_id{};
  std::string ns{};
};

/// The state of a thread. Without a checkpoint id it is the live one: what tasks of an unfinished
/// step have given is applied. Throws graph_error: the graph has no checkpointer, no such
/// checkpoint, or what the tasks gave does not fit (as the step itself would fail).
[[nodiscard]] state_snapshot get_state(const program_ptr&, const thread_place&,
                                       bool with_subgraphs = false);

/// The checkpoints of a thread, newest first, each as it was before the step that follows it.
[[nodiscard]] std::vector<state_snapshot> state_history(const program_ptr&, const thread_place&,
                                                        const checkpoint_query& = {});

/// One edit of a state.
struct state_edit {
  /// Nothing: only the node's edges and branches fire.
  std::optional<write_list> values{};
  /// As whose result the values count; empty: of the node that ran last. START: as an input. END,
  /// without values: nothing is left to run.
  std::string as_node{};
  /// Where to go besides what the node's edges and branches say (the reference's Command).
  std::vector<std::string> go_to{};
  std::vector<send> sends{};
  /// Extra input of the node's branches: see node_output::for_routers.
  std::shared_ptr<const void> for_routers{};
};

/// Writes to a thread as if a node had just run: its edges and branches fire, and what was pending
/// before is dropped. The id of the new checkpoint, which is saved then: on the disk, where the
/// checkpointer has one. Runs the node's branches on the caller's thread.
///
/// Throws graph_error, and checkpoint_error when it could not be saved: nothing is edited then.
/// An edit has exclusive access to the thread, like a run. It waits at most `patience` for a run that
/// holds the thread; with 0 it does not wait (checkpoint_errc::in_use). A body must not edit the
/// thread of its own run.
std::string update_state(const program_ptr&, const thread_place&, state_edit,
                         std::chrono::milliseconds patience = edit_timeout);

/// Several edits at once: each inner list is one super-step, whose edits are applied together, in
/// the order in which they are listed. Where there are several, each names its node.
std::string bulk_update_state(const program_ptr&, const thread_place&,
                              std::vector<std::vector<state_edit>> steps,
                              std::chrono::milliseconds patience = edit_timeout);

/// The same checkpoint once more, beside the one that is named (the newest without a name): a place
/// to begin a branch at. The id of the copy.
std::string copy_state(const program_ptr&, const thread_place&,
                       std::chrono::milliseconds patience = edit_timeout);

} // namespace detail

/// A thread as a checkpoint shows it; see engine::get_state().
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

/// The erased form of an update. Throws graph_error.
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/inputs.hpp>
#include <superstep/runtime/thread_state.hpp>

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace superstep {

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

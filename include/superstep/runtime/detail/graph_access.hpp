// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace superstep {

template <class State>
class compiled_graph;

namespace detail {

/// Converts between the channels of a state and the types that callers use. Specialised for each
/// kind of state.
template <class State>
struct state_adapter;

/// Gives the library and its tests access to the program and the adapter of a compiled graph.
struct graph_access {
  /// Returns a graph with this program. Throws wrong_type if the state of the program is not a
  /// State.
  template <class State, class Program>
  [[nodiscard]] static compiled_graph<State> make(Program program,
                                                  state_adapter<State> adapter = {}) {
    return compiled_graph<State>{std::move(program), std::move(adapter)};
  }
  template <class State>
  [[nodiscard]] static const auto& program(const compiled_graph<State>& graph) noexcept {
    return graph.program_;
  }
  template <class State>
  [[nodiscard]] static const state_adapter<State>&
  adapter(const compiled_graph<State>& graph) noexcept {
    return graph.adapter_;
  }
};

/// Returns the program of a compiled graph.
template <class State>
[[nodiscard]] const auto& program_of(const compiled_graph<State>& graph) noexcept {
  return graph_access::program(graph);
}
/// Returns the adapter of a compiled graph.
template <class State>
[[nodiscard]] const state_adapter<State>& adapter_of(const compiled_graph<State>& graph) noexcept {
  return graph_access::adapter(graph);
}

} // namespace detail
} // namespace superstep

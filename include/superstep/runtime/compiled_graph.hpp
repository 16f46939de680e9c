// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/channels/detail/slots.hpp>
#include <superstep/runtime/detail/graph_access.hpp>
#include <superstep/runtime/detail/program.hpp>

#include <string>
#include <utility>
#include <vector>

namespace superstep {

/// A graph that is ready to run: what the `compile()` of graph<State>, channel_graph and json_graph
/// and the agent builders return. Immutable and cheap to copy. Holds no threads: pass it to an
/// engine.
///
/// `State` is what a run returns: the struct of a graph<State>, channel_values of a channel_graph,
/// json::object of a json_graph.
/// @par Threads
/// All members may be called from any thread.
template <class State>
class compiled_graph {
public:
  using state_type = State;

  /// The graph as Mermaid text, laid out as LangGraph's.
  [[nodiscard]] std::string mermaid() const { return program_->mermaid(); }
  /// The faults that compile() accepted: nodes that nothing leads to, or that never lead to END.
  [[nodiscard]] const std::vector<fault>& warnings() const& noexcept {
    return program_->warnings();
  }
  [[nodiscard]] std::vector<fault> warnings() && { return program_->warnings(); }

private:
  friend struct detail::graph_access;

  explicit compiled_graph(detail::program_ptr program, detail::state_adapter<State> adapter = {})
      : program_{std::move(program)}, adapter_{std::move(adapter)} {
    const auto& type = typeid(typename detail::state_adapter<State>::block);
    if (program_->state_type() != type)
      detail::throw_wrong_type("the state of the graph", &program_->state_type(), type);
  }

  detail::program_ptr program_;
  [[no_unique_address]] detail::state_adapter<State> adapter_;
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/channels/detail/slots.hpp>
#include <superstep/runtime/detail/graph_access.hpp>
#include <superstep/runtime/detail/program.hpp>

#include <string>
#include <utility>
#include <vector>

namespace superstep {

/// A graph that is ready to run, as returned by the `compile()` of graph<State>, channel_graph and
/// json_graph and by the agent builders. Immutable and cheap to copy: copies share the program,
/// which lives as long as the last copy or run. Has no threads: pass it to an engine.
///
/// `State` is the type that a run returns: the struct of a graph<State>, channel_values for a
/// channel_graph, json::object for a json_graph.
/// @par Threads
/// All members may be called from any thread.
template <class State>
class compiled_graph {
public:
  using state_type = State; ///< the type that a run returns

  /// Returns the graph as Mermaid text in LangGraph's layout. to_mermaid() in drawing.hpp does so
  /// with options.
  [[nodiscard]] std::string mermaid() const { return program_->mermaid(); }
  /// Returns the faults that compile() accepted: nodes that no run can reach, and nodes from which
  /// no run can reach END. With compile_options::lint, also nodes that run more than once. Valid as
  /// long as the compiled graph.
  [[nodiscard]] const std::vector<fault>& warnings() const& noexcept {
    return program_->warnings();
  }
  /// Returns a copy of the warnings, because a temporary graph is about to be destroyed.
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

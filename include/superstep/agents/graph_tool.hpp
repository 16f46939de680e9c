// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/detail/runtime_access.hpp>
#include <superstep/runtime/graph.hpp>
#include <superstep/tools/make_tool.hpp>
#include <superstep/tools/tool_node.hpp>

#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

namespace superstep {

namespace detail {

/// Runs the graph below the call's node and converts its final state with `out`. The task throws
/// tool_exception if the call has no graph around it.
template <class State, class Out>
task<std::invoke_result_t<const Out&, const State&>>
run_graph_tool(program_ptr table, const tool_context& context, write_list input, const Out& out) {
  const auto* environment = context.environment.get();
  if (environment == nullptr || !environment->run)
    throw tool_exception{"a tool that runs a graph must be called by the tool node of a graph"};
  auto running =
      run_nested(runtime_access::services(*environment->run), std::move(table), std::move(input));
  const auto ended = co_await running;
  if (ended.to_parent || !ended.state)
    throw tool_exception{
        "the graph of the tool ended without a final state; a tool's graph must not "
        "return a command to its parent"};
  co_return out(static_cast<const struct_block<State>&>(*ended.state).state);
}

} // namespace detail

/// Makes a tool from a compiled graph, for example an agent that another agent calls.
///
/// The graph runs below the node of the tools like a subgraph: its interrupts, events and
/// checkpoints are part of that run. Use the tool in agents that run each call in a separate
/// activation: create_agent(), or create_react_agent() with version v2.
///
/// May be called from any thread. Any number of runs may call the tool, `to_graph` and `from_graph`
/// at once. The tool keeps the graph alive. A call outside a graph throws tool_exception.
///
/// @tparam Args a described struct with the arguments of the tool; see make_tool()
/// @param name unique among the tools of an agent
/// @param description what the tool does and when to call it, for the model
/// @param graph the graph to run for each call
/// @param to_graph converts the arguments to the graph's input: a State, an update of one, or a
/// projection. It must not return a whole State if the graph keeps its state between calls
/// (persistence::per_thread), because that would replace the saved state.
/// @param from_graph converts the graph's final State to the tool's result, of any type that
/// make_tool() accepts
/// @return the tool
/// @throws compile_error{invalid_graph} if `to_graph` of a per_thread graph returns a whole State
template <class Args, class State, std::invocable<const Args&> In, std::invocable<const State&> Out>
  requires detail::nested_input<std::remove_cvref_t<std::invoke_result_t<In, const Args&>>, State>
[[nodiscard]] tool_ptr make_graph_tool(std::string name, std::string description,
                                       compiled_graph<State> graph, In to_graph, Out from_graph) {
  using input = std::remove_cvref_t<std::invoke_result_t<In, const Args&>>;
  if (detail::is_whole_input<input, State> &&
      detail::program_of(graph)->options().persistence == persistence::per_thread)
    throw compile_error{{{graph_errc::invalid_graph,
                          {},
                          detail::whole_state_fault("to_graph of tool '" + name + "'",
                                                    *detail::program_of(graph))}}};
  return make_tool<Args>(
      std::move(name), std::move(description),
      [graph = std::move(graph), to_graph = std::move(to_graph),
       from_graph = std::move(from_graph)](const Args& args, const tool_context& context) {
        return detail::run_graph_tool<State>(detail::program_of(graph), context,
                                             detail::nested_writes(graph, to_graph(args)),
                                             from_graph);
      });
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/detail/program.hpp>
#include <superstep/runtime/graph_error.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace superstep::detail {

/// Runs a graph as part of a body's task. Returns the last state of the graph, or its command to
/// the parent. Throws the error of the nested run. If the nested run is interrupted, so is the
/// body: its coroutine is not resumed.
/// @param services the services of the body that awaits the result
[[nodiscard]] task<nested_outcome> run_nested(call_services* services, program_ptr table,
                                              write_list input);

/// Returns the text for the fault that a graph which keeps its state between calls gets a whole
/// state as its input.
/// @param caller names the function that returns the input
[[nodiscard]] std::string whole_state_fault(std::string_view caller, const program& child);
/// Throws graph_error{invalid_graph} if the graph keeps its state between calls.
void check_whole_input(std::string_view caller, const program& child);

/// A command to the parent, on its way from runtime::invoke() through the coroutine of the body to
/// the node. Code that is not a body of a node reports it as graph_errc::no_parent.
class called_parent : public graph_error {
public:
  called_parent(std::shared_ptr<const value> command, std::string child);

  [[nodiscard]] const value& command() const noexcept { return *command_; }
  /// Returns the name of the graph that has returned the command.
  [[nodiscard]] const std::string& child() const noexcept { return child_; }

private:
  std::shared_ptr<const value> command_;
  std::string child_;
};

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
// The error category of graphs and runs, the exceptions that contain a run's error, and the text of
// an exception (describe).
#include "base/error_table.hpp"

#include <superstep/runtime/graph_error.hpp>

#include <ostream>

namespace superstep {

namespace {

constexpr detail::error_entry<graph_errc> code_table[] = {
    {graph_errc::recursion_limit, "recursion_limit", "the recursion limit was reached"},
    {graph_errc::invalid_update, "invalid_update",
     "an update, an input or a Send is not valid for the graph"},
    {graph_errc::unknown_node, "unknown_node", "no such node"},
    {graph_errc::node_failed, "node_failed", "a node failed"},
    {graph_errc::actor_exited, "actor_exited", "an actor received an exit message"},
    {graph_errc::cancelled, "cancelled", "the run was cancelled"},
    {graph_errc::deadline, "deadline", "the deadline of the run passed"},
    {graph_errc::empty_input, "empty_input", "the run received no input"},
    {graph_errc::invalid_graph, "invalid_graph", "the graph has faults"},
    {graph_errc::unknown_label, "unknown_label",
     "a branch returned a label that its path map does not contain"},
    {graph_errc::bad_destination, "bad_destination", "a branch returned no valid destination"},
    {graph_errc::no_checkpointer, "no_checkpointer", "the graph has no checkpointer"},
    {graph_errc::unknown_checkpoint, "unknown_checkpoint", "no such checkpoint"},
    {graph_errc::ambiguous_resume, "ambiguous_resume", "several interrupts are pending"},
    {graph_errc::unknown_interrupt, "unknown_interrupt", "no such pending interrupt"},
    {graph_errc::no_parent, "no_parent", "there is no parent graph"},
    {graph_errc::node_timeout, "node_timeout", "an attempt of a node took too long"},
    {graph_errc::step_timeout, "step_timeout", "a super-step took too long"},
    {graph_errc::drained, "drained", "the run was asked to stop between two super-steps"},
    {graph_errc::user_code_failed, "user_code_failed",
     "user code outside a node threw an exception"},
    {graph_errc::used_thread, "used_thread", "a whole state may only be the input of a new thread"},
    {graph_errc::engine_full, "engine_full", "the engine has reached its limit of runs"},
};

/// Returns the texts of all faults, one per line.
std::string text_of_faults(const std::vector<fault>& faults) {
  auto text = std::string{};
  for (const auto& f : faults) {
    if (!text.empty())
      text += '\n';
    text += f.text;
  }
  return text;
}

} // namespace

std::error_code make_error_code(graph_errc code) noexcept {
  static const auto category =
      detail::error_table<graph_errc>{"graph", "graph_errc", "unknown graph error", code_table};
  return {static_cast<int>(code), category};
}

std::ostream& operator<<(std::ostream& out, const run_error& error) {
  return out << error.code << ": " << error.text;
}

graph_error::graph_error(run_error e) : std::system_error{e.code, e.text}, details_{std::move(e)} {}

graph_error::graph_error(error_code code, std::string text)
    : graph_error{run_error{code, std::move(text), {}, 0, {}, 1, {}}} {}

compile_error::compile_error(std::vector<fault> faults)
    : graph_error{run_error{make_error_code(graph_errc::invalid_graph),
                            text_of_faults(faults),
                            faults.empty() ? std::string{} : faults.front().node,
                            0,
                            {},
                            0,
                            {}}},
      faults_{std::move(faults)} {}

std::string describe(const std::exception_ptr& failure) {
  if (!failure)
    return {};
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    auto text = std::string{e.what()};
    try {
      std::rethrow_if_nested(e);
    } catch (...) {
      text += ": " + describe(std::current_exception());
    }
    return text;
  } catch (...) { // a body may throw any type
    return "an exception that is not derived from std::exception";
  }
}

} // namespace superstep

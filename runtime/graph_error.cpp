// SPDX-License-Identifier: Apache-2.0
// The error category of graphs and runs, the exceptions that contain a run's error, and the text of
// an exception (describe).
#include <superstep/runtime/graph_error.hpp>

namespace superstep {

namespace {

class graph_category final : public std::error_category {
public:
  [[nodiscard]] const char* name() const noexcept override { return "graph"; }
  [[nodiscard]] std::string message(int code) const override {
    switch (static_cast<graph_errc>(code)) {
    case graph_errc::recursion_limit:
      return "the recursion limit was reached";
    case graph_errc::invalid_update:
      return "an update, an input or a Send is not valid for the graph";
    case graph_errc::unknown_node:
      return "no such node";
    case graph_errc::node_failed:
      return "a node failed";
    case graph_errc::actor_exited:
      return "an actor received an exit message";
    case graph_errc::cancelled:
      return "the run was cancelled";
    case graph_errc::deadline:
      return "the deadline of the run passed";
    case graph_errc::empty_input:
      return "the run received no input";
    case graph_errc::invalid_graph:
      return "the graph has faults";
    case graph_errc::unknown_label:
      return "a branch returned a label that its path map does not contain";
    case graph_errc::bad_destination:
      return "a branch returned no valid destination";
    case graph_errc::no_checkpointer:
      return "the graph has no checkpointer";
    case graph_errc::unknown_checkpoint:
      return "no such checkpoint";
    case graph_errc::ambiguous_resume:
      return "several interrupts are pending";
    case graph_errc::unknown_interrupt:
      return "no such pending interrupt";
    case graph_errc::no_parent:
      return "there is no parent graph";
    case graph_errc::node_timeout:
      return "an attempt of a node took too long";
    case graph_errc::step_timeout:
      return "a super-step took too long";
    case graph_errc::drained:
      return "the run was asked to stop between two super-steps";
    case graph_errc::user_code_failed:
      return "user code outside a node threw an exception";
    case graph_errc::used_thread:
      return "a whole state may only be the input of a new thread";
    }
    return "unknown graph error";
  }
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
  static const auto category = graph_category{};
  return {static_cast<int>(code), category};
}

graph_error::graph_error(run_error e) : std::system_error{e.code, e.text}, details_{std::move(e)} {}

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

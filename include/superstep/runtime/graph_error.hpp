// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace superstep {

/// The reasons why a graph does not compile or a run fails. docs/errors.md describes each.
enum class graph_errc {
  recursion_limit = 1, ///< more super-steps needed than the run may take
  invalid_update,      ///< the writes of a step do not fit their channels
  unknown_node,        ///< a destination names a node that the graph does not have
  node_failed,         ///< a body or a router threw; the exception is nested
  actor_exited,        ///< the actor of a node or a call received an exit message
  cancelled,           ///< the run was cancelled
  deadline,            ///< the deadline of the run passed
  empty_input,         ///< the input wrote no channel and no task was pending
  invalid_graph,       ///< faults found by compile()
  unknown_label,       ///< a branch returned a label that its path map does not have
  bad_destination,     ///< a branch chose nothing, or START
  no_checkpointer,     ///< the call needs a checkpointer, and the graph has none
  unknown_checkpoint,  ///< the thread has no such checkpoint
  ambiguous_resume,    ///< one resume value without an id, several pending interrupts
  unknown_interrupt,   ///< a resume value for an interrupt that is not pending
  no_parent,           ///< a Command to the parent of the outermost graph
  node_timeout,        ///< an attempt took longer than its node's timeout_policy allows
  step_timeout,        ///< a super-step took longer than compile_options::step_timeout
  drained,             ///< the run was asked to stop at its next barrier, and can be resumed
  user_code_failed,    ///< a sink, a cache, its key or other user code outside a body threw
  used_thread,         ///< a whole state was the input of a thread that has checkpoints
};
/// Returns the code in the category `graph`.
[[nodiscard]] std::error_code make_error_code(graph_errc) noexcept;

/// The reason why a run failed, and where. Plain data that may be passed between threads.
struct run_error {
  std::error_code code;
  std::string text;
  std::string node;      ///< empty if the failure does not belong to a node
  std::int64_t step = 0; ///< super-step in which it happened
  std::string task;      ///< task path, e.g. `agent` or `tools#3` (the fourth Send)
  std::uint32_t attempts = 1;
  std::exception_ptr cause; ///< the exception that a body threw; null if none did
};

/// The exception that invoke() throws when a run fails. The exception of a body, if there is one,
/// is nested in it.
class graph_error : public std::system_error {
public:
  explicit graph_error(run_error e);
  /// The text of the error, without the general message of its code.
  [[nodiscard]] const char* what() const noexcept override { return details_.text.c_str(); }
  /// The node that failed; empty if the failure does not belong to a node.
  [[nodiscard]] const std::string& node() const noexcept { return details_.node; }
  /// The super-step in which the run failed.
  [[nodiscard]] std::int64_t step() const noexcept { return details_.step; }
  /// All that is known of the failure.
  [[nodiscard]] const run_error& details() const noexcept { return details_; }

private:
  run_error details_;
};

/// A fault in a graph, found by compile().
struct fault {
  graph_errc code;
  std::string node;
  std::string text;
};

/// The exception that compile() throws, with all faults of the graph.
class compile_error : public graph_error {
public:
  explicit compile_error(std::vector<fault> faults);
  /// The faults of the graph; at least one.
  [[nodiscard]] const std::vector<fault>& faults() const noexcept { return faults_; }

private:
  std::vector<fault> faults_;
};

/// Returns the text of an exception and of those nested in it, joined by ": ".
[[nodiscard]] std::string describe(const std::exception_ptr&);

} // namespace superstep

template <>
struct std::is_error_code_enum<superstep::graph_errc> : std::true_type {};

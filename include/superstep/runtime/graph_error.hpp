// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstdint>
#include <exception>
#include <iosfwd>
#include <string>
#include <vector>

namespace superstep {

/// The reasons why a graph does not compile or a run fails. docs/errors.md describes the cause and
/// the remedy of each.
enum class graph_errc {
  recursion_limit = 1, ///< the run did not end before run_config::recursion_limit
  invalid_update,      ///< an update, an input, a Send or an edit that is not valid for the graph
  unknown_node,        ///< a destination names a node that the graph does not have
  node_failed,         ///< a body or a router threw; the exception is nested
  actor_exited,        ///< the actor of a task or of the run received an exit message
  cancelled,           ///< the run was cancelled
  deadline,            ///< the deadline of the run passed
  empty_input,         ///< the input is resume, but there is no checkpoint to resume from
  invalid_graph,       ///< faults found by compile()
  unknown_label,       ///< a branch returned a label that its path map does not contain
  bad_destination,     ///< a branch of a json_graph returned START or an empty name
  no_checkpointer,     ///< the call needs a checkpointer, and the graph has none
  unknown_checkpoint,  ///< the thread has no such checkpoint
  ambiguous_resume,    ///< a resume value without an id, but several tasks are interrupted
  unknown_interrupt,   ///< a resume value for an interrupt that is not pending
  no_parent,           ///< a command to the parent graph in a graph that has no parent
  node_timeout,        ///< an attempt took longer than its node's timeout_policy allows
  step_timeout,        ///< a super-step took longer than compile_options::step_timeout
  drained,             ///< run_handle::drain() stopped the run between two super-steps
  user_code_failed,    ///< user code outside a body threw, e.g. cache_policy::key or a checkpointer
  used_thread,         ///< a whole state was the input of a thread that has checkpoints
  engine_full,         ///< the engine has engine_options::runs_max live runs and refuses more
};
/// Returns the code in the error category `graph`. May be called from any thread.
[[nodiscard]] std::error_code make_error_code(graph_errc) noexcept;

/// The reason why a run failed, and where. Plain data that may be passed between threads.
struct run_error {
  error_code code;            ///< a graph_errc, checkpoint_errc, channel_errc or errc
  std::string text;           ///< what failed and why, for people
  std::string node;           ///< empty if the failure does not belong to a node
  std::int64_t step = 0;      ///< super-step of the failure; 0 if it was outside a step
  std::string task;           ///< task path, e.g. `agent` or `tools#3` (the fourth Send)
  std::uint32_t attempts = 1; ///< attempts of the task, including the last; see retry_policy
  std::exception_ptr cause;   ///< the exception of a body or of other user code; null if none
};

/// Prints the name of the code and the text: `graph_errc::deadline: …`.
std::ostream& operator<<(std::ostream& out, const run_error& error);

/// The exception that engine::invoke() throws when a run fails, and that other functions throw for
/// an invalid graph, input or thread. If a body or other user code threw, invoke() nests that
/// exception in it (std::rethrow_if_nested); details().cause has the exception in all cases.
class graph_error : public std::system_error {
public:
  /// Creates an exception with the code of `e`; what() is its text.
  explicit graph_error(run_error e);
  /// Creates an exception that belongs to no node and no super-step.
  graph_error(error_code code, std::string text);
  /// Returns run_error::text, without the general message of the code.
  [[nodiscard]] const char* what() const noexcept override { return details_.text.c_str(); }
  /// Returns the code of the failure, which a stream prints by its name.
  [[nodiscard]] error_code code() const noexcept { return details_.code; }
  /// Returns the name of the node that failed; empty if the failure does not belong to a node.
  [[nodiscard]] const std::string& node() const noexcept { return details_.node; }
  /// Returns the super-step in which the run failed; 0 if it was outside a step.
  [[nodiscard]] std::int64_t step() const noexcept { return details_.step; }
  /// Returns the complete description of the failure. Valid as long as the exception.
  [[nodiscard]] const run_error& details() const noexcept { return details_; }

private:
  run_error details_;
};

/// A fault in a graph, found by compile().
struct fault {
  graph_errc code;  ///< the kind of the fault
  std::string node; ///< empty if the fault does not belong to a node
  std::string text; ///< what is wrong, for people
};

/// The exception that compile() throws. It lists all faults of the graph; code() is
/// graph_errc::invalid_graph.
class compile_error : public graph_error {
public:
  /// Creates an exception whose what() has the text of one fault per line.
  explicit compile_error(std::vector<fault> faults);
  /// Returns the faults of the graph, at least one. Valid as long as the exception.
  [[nodiscard]] const std::vector<fault>& faults() const noexcept { return faults_; }

private:
  std::vector<fault> faults_;
};

/// Returns the text of an exception and of those nested in it, joined by ": ". Empty for null.
/// Exceptions that are not derived from std::exception have a fixed text. May be called from any
/// thread.
[[nodiscard]] std::string describe(const std::exception_ptr&);

} // namespace superstep

template <>
struct std::is_error_code_enum<superstep::graph_errc> : std::true_type {};

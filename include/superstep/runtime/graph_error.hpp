// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace superstep {

/// Why a graph cannot be compiled or a run cannot go on. docs/errors.md is the list.
enum class graph_errc {
  recursion_limit = 1, ///< more super-steps needed than the run may take
  invalid_update,      ///< the writes of a step do not fit their channels
  unknown_node,        ///< a target that the graph does not have
  node_failed,         ///< a body or a router threw; the exception is nested
  actor_exited,        ///< the actor of a node or a call was told to exit
  cancelled,           ///< somebody cancelled the run
  deadline,            ///< the deadline of the run passed
  empty_input,         ///< the input wrote nothing and nothing was left to do
  invalid_graph,       ///< faults found by compile()
  unknown_label,       ///< a branch said what its path map does not have
  bad_destination,     ///< a branch chose nothing, or START
  no_checkpointer,     ///< something that needs a checkpointer was asked of a graph without one
  unknown_checkpoint,  ///< the thread has no such checkpoint
  ambiguous_resume,    ///< one answer, several open questions
  unknown_interrupt,   ///< an answer to a question that nobody asked
  no_parent,           ///< a Command to the parent of the outermost graph
  node_timeout,        ///< an attempt took longer than its node's timeout_policy allows
  step_timeout,        ///< a super-step took longer than compile_options::step_timeout
  drained,             ///< the run was asked to stop at its next barrier, and can be resumed
  user_code_failed,    ///< a sink, a cache, its key or other code outside a body threw
  used_thread,         ///< a whole state was the input of a thread that has checkpoints
};
[[nodiscard]] std::error_code make_error_code(graph_errc) noexcept;

/// Why one run ended early: what, and where. Plain data, safe to hand between threads.
struct run_error {
  std::error_code code;
  std::string text;
  std::string node;      ///< empty when no single node is to blame
  std::int64_t step = 0; ///< super-step it happened in
  std::string task;      ///< task path, e.g. `agent` or `tools#3` (the fourth Send)
  std::uint32_t attempts = 1;
  std::exception_ptr cause; ///< what a body threw, if one did
};

/// A run that could not go on, thrown to the caller of invoke(). Nests the exception of the body.
class graph_error : public std::system_error {
public:
  explicit graph_error(run_error e);
  /// The text alone: system_error would add the code's general message to it.
  [[nodiscard]] const char* what() const noexcept override { return details_.text.c_str(); }
  [[nodiscard]] const std::string& node() const noexcept { return details_.node; }
  [[nodiscard]] std::int64_t step() const noexcept { return details_.step; }
  [[nodiscard]] const run_error& details() const noexcept { return details_; }

private:
  run_error details_;
};

/// One fault of a graph under construction.
struct fault {
  graph_errc code;
  std::string node;
  std::string text;
};

/// Thrown by compile(), with every fault at once.
class compile_error : public graph_error {
public:
  explicit compile_error(std::vector<fault> faults);
  [[nodiscard]] const std::vector<fault>& faults() const noexcept { return faults_; }

private:
  std::vector<fault> faults_;
};

/// The text of an exception, nested ones joined by ": ".
[[nodiscard]] std::string describe(const std::exception_ptr&);

} // namespace superstep

template <>
struct std::is_error_code_enum<superstep::graph_errc> : std::true_type {};

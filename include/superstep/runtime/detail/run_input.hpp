// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace superstep::detail {

/// A command that a caller passes to a run instead of an input, without the type of the state
/// (`Command` in langgraph/types.py).
struct thread_command {
  task_output output; ///< update, nodes to go to, Sends
  /// The resume value of the only pending interrupt, or of the first one that a body reaches.
  std::optional<json::value> resume;
  /// Resume values by interrupt id. An id that is not pending is an error unless
  /// ignore_unknown_ids.
  std::map<std::string, json::value> resume_by_id;
  bool to_parent = false; ///< for the parent graph; refused, because a caller's run has no parent
  /// Ignores resume values for interrupts that are not pending, as LangGraph does.
  bool ignore_unknown_ids = false;
};

/// Writes to every field of a state; see input_writes(). It can be the input of a new thread only.
/// On a thread with checkpoints it would reset every field without a reducer, so the run fails with
/// graph_errc::used_thread.
struct state_input {
  write_list writes;
};

/// The start of a run: an input, a command, or nothing, which continues the thread from its last
/// checkpoint.
class run_input {
public:
  /// The kinds of an input; `nothing` continues the thread.
  enum class kind : std::uint8_t { writes, nothing, command };

  run_input(write_list input) : writes_{std::move(input)} {}
  run_input(state_input input) : is_whole_state_{true}, writes_{std::move(input.writes)} {}
  run_input(thread_command c);
  /// Returns the input of a run that continues the thread from its last checkpoint.
  [[nodiscard]] static run_input resume() {
    auto out = run_input{write_list{}};
    out.kind_ = kind::nothing;
    return out;
  }
  run_input() noexcept;
  // Defined in the source file, so that programs need not instantiate the members of a command.
  run_input(run_input&&) noexcept;
  run_input& operator=(run_input&&) noexcept;
  ~run_input();

  /// Returns the kind of the input.
  [[nodiscard]] kind what() const noexcept { return kind_; }
  /// Whether the input is a whole state; see state_input.
  [[nodiscard]] bool is_whole_state() const noexcept { return is_whole_state_; }
  /// Returns the writes of an input.
  [[nodiscard]] write_list& writes() noexcept { return writes_; }
  /// Returns the command. @pre what() == kind::command
  [[nodiscard]] thread_command& command() noexcept { return *command_; }
  /// Removes the input and frees its memory.
  void clear() noexcept;

private:
  kind kind_ = kind::writes;
  bool is_whole_state_ = false;
  write_list writes_;
  std::unique_ptr<thread_command> command_;
};

} // namespace superstep::detail

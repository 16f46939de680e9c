// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace superstep::detail {

/// What a caller may say to a thread instead of an input (the reference's Command).
struct thread_command {
  task_output output; ///< update, nodes to go to, Sends
  /// Answers the one open question, or the first one that is asked.
  std::optional<json::value> resume;
  /// Answers by the ids of questions. An id that is not open is an error.
  std::map<std::string, json::value> resume_by_id;
  bool to_parent = false; ///< there is none: refused
  /// Answers to unknown questions are ignored (the reference's default).
  bool ignore_unknown_ids = false;
};

/// The writes of every field of a state; see input_writes(). The input of a new thread only: on a
/// thread with checkpoints it would reset every field without a reducer, so the run is refused with
/// graph_errc::used_thread.
struct state_input {
  write_list writes;
};

/// What a run starts from: an input, nothing (the thread goes on where it stands), or a command.
class run_input {
public:
  enum class kind : std::uint8_t { writes, nothing, command };

  run_input(write_list input) : writes_{std::move(input)} {}
  run_input(state_input input) : is_whole_state_{true}, writes_{std::move(input.writes)} {}
  run_input(thread_command c)
      : kind_{kind::command}, command_{std::make_unique<thread_command>(std::move(c))} {}
  [[nodiscard]] static run_input resume() {
    auto out = run_input{write_list{}};
    out.kind_ = kind::nothing;
    return out;
  }
  run_input() = default;

  [[nodiscard]] kind what() const noexcept { return kind_; }
  /// Whether the input writes every field of the state, defaults included.
  [[nodiscard]] bool is_whole_state() const noexcept { return is_whole_state_; }
  [[nodiscard]] write_list& writes() noexcept { return writes_; }
  [[nodiscard]] thread_command& command() noexcept { return *command_; }

private:
  kind kind_ = kind::writes;
  bool is_whole_state_ = false;
  write_list writes_;
  std::unique_ptr<thread_command> command_;
};

} // namespace superstep::detail

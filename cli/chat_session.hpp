// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/chat_view.hpp"
#include "cli/keyboard.hpp"
#include "cli/retry_notes.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/agent_file.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace superstep::cli {

/// One conversation, at a terminal or through a pipe. The graph's checkpointer saves it in the
/// thread `config.thread_id`.
class chat_session {
public:
  struct options {
    compiled_graph<chat_state> conversation;
    run_config config;                      ///< used for every run
    bool is_at_keyboard = false;            ///< whether standard input and output are terminals
    std::shared_ptr<retry_notes> retries{}; ///< the model's retries to show; may be null
  };
  /// The reason for the end of the conversation.
  enum class leaving : std::uint8_t {
    /// End of input or /quit, and all messages were answered; or the answers cannot be written.
    ended,
    failed, ///< end of input or /quit, and an answer or a line failed
    stopped ///< Ctrl-C, or a review is pending
  };

  /// All references must outlive the session.
  /// @param shown displays the conversation
  /// @param remarks displays remarks of the program; in a pipe, they must not be mixed with answers
  chat_session(engine& lanes, std::shared_ptr<const wake_up> bell, keyboard& input,
               chat_view& shown, chat_view& remarks, options given);
  /// Runs the conversation until its end.
  [[nodiscard]] leaving run();

private:
  /// The result of a turn: show the prompt again, or end the conversation.
  enum class turn : std::uint8_t { over, leave };

  [[nodiscard]] turn begin();
  [[nodiscard]] turn obey(const std::string& line);
  [[nodiscard]] turn answer(detail::run_input input);
  [[nodiscard]] turn resume();
  [[nodiscard]] detail::raw_result run_once(detail::run_input input);
  void show_history(const message_list& messages);
  void end_badly(const run_error& why);
  [[nodiscard]] std::optional<detail::run_input> ask(const std::vector<interrupt>& questions);
  [[nodiscard]] std::optional<human_response> ask(const human_interrupt& question);
  [[nodiscard]] line_reader::read read(std::string_view prompt);
  [[nodiscard]] const std::string& thread() const noexcept { return given_.config.thread_id; }

  engine& lanes_;
  std::shared_ptr<const wake_up> bell_;
  keyboard& input_;
  chat_view& shown_;
  chat_view& remarks_;
  options given_;
  leaving result_ = leaving::ended;
};

} // namespace superstep::cli

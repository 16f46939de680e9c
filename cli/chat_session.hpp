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

/// One conversation, at a terminal or with the lines of a pipe. The graph's checkpointer saves it
/// under `config.thread_id`.
class chat_session {
public:
  struct options {
    compiled_graph<chat_state> conversation;
    run_config config; ///< for every run
    bool is_at_keyboard = false;
    std::shared_ptr<retry_notes> retries{}; ///< receives the model's retries; null: not shown
  };
  /// The end of the conversation.
  enum class leaving : std::uint8_t {
    ended,  ///< end of input, or /quit
    failed, ///< the same, but an answer failed
    stopped ///< Ctrl-C, or a pending review
  };

  /// All references must outlive the session.
  chat_session(engine& lanes, std::shared_ptr<const wake_up> bell, keyboard& input,
               chat_view& shown, chat_view& remarks, options given);
  /// Runs the conversation until its end.
  [[nodiscard]] leaving run();

private:
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

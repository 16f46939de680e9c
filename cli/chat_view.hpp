// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/detail/run_event.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/runtime/graph_error.hpp>
#include <superstep/tools/human_review.hpp>

#include <cstddef>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::cli {

/// Displays a conversation: streamed answers, and one line for each tool call and each result.
/// Texts of models and tools pass through visible_text(), so that they cannot control the terminal.
class chat_view {
public:
  chat_view(std::ostream& out, bool has_colours) : out_{out}, has_colours_{has_colours} {}

  /// Displays an event of a run. The run must belong to a graph of make_conversation() and be
  /// streamed with `modes`.
  void hear(const detail::run_event& event);
  static constexpr auto modes = stream_mode::messages | stream_mode::updates;
  /// Ends the line of the answer that is being displayed, because the run has ended or the model
  /// call is retried.
  void end_answer();

  /// Displays the tool calls of the last answer if the conversation has several pending reviews and
  /// this session has not displayed the calls. The reviews then have the numbers of their calls.
  void show_reviewed_calls(const message_list& messages);
  /// Displays all messages of a thread.
  void history(const message_list& messages);
  /// Displays a tool call that the user must review, and the allowed answers.
  void question(const human_interrupt& asked);
  /// Displays an error.
  void failed(std::string_view text);
  /// Displays a remark of the program.
  void remark(std::string_view text);
  /// Displays the prompt for an input line.
  void prompt(std::string_view text);
  /// Whether a text could not be written, for example because the reader of a pipe has ended.
  [[nodiscard]] bool is_cut() const { return out_.fail(); }

private:
  void say(std::string_view piece);
  void show(const message& m);
  void show_messages(const write& w);
  void show_response(const write& w);
  void show_calls(const message& m);
  void show_result(const message& m);
  [[nodiscard]] std::string number_of(const action_request& asked);
  void line(std::string_view code, std::string_view text);

  std::ostream& out_;
  bool has_colours_;
  std::string last_answer_;                                 ///< the text of the last answer
  std::string said_;                                        ///< the answer that is being streamed
  std::map<std::string, std::size_t, std::less<>> numbers_; ///< numbers of parallel calls, by id
  struct unasked_call {
    std::string name;
    json::object args;
    std::size_t number;
  };
  std::vector<unasked_call> unasked_; ///< calls of the last answer that have not been reviewed yet
  /// Ids of calls whose result was displayed. A resumed run reports the results of its step again,
  /// and they must not be displayed twice.
  std::set<std::string, std::less<>> answered_;
};

} // namespace superstep::cli

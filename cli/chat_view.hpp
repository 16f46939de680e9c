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

/// Displays a conversation: streamed answers, and a line for each tool call and each result. Texts
/// of models and tools are displayed with visible_text().
class chat_view {
public:
  chat_view(std::ostream& out, bool has_colours) : out_{out}, has_colours_{has_colours} {}

  /// Displays an event of a run of a conversation (make_conversation()), streamed with `modes`.
  void hear(const detail::run_event& event);
  static constexpr auto modes = stream_mode::messages | stream_mode::updates;
  /// Ends the answer that is being displayed, because the run has ended.
  void end_answer();

  void history(const message_list& messages);
  void question(const human_interrupt& asked);
  void failed(std::string_view text);
  /// Displays a remark of the program.
  void remark(std::string_view text);
  /// Displays the prompt for an input line.
  void prompt(std::string_view text);

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
  std::string said_;                                        ///< the answer that is being streamed
  std::map<std::string, std::size_t, std::less<>> numbers_; ///< numbers of parallel calls, by id
  struct unasked_call {
    std::string name;
    json::object args;
    std::size_t number;
  };
  std::vector<unasked_call> unasked_; ///< calls of the last answer that have not been reviewed
  /// Ids of calls whose result was displayed: a resumed run reports the results of its step again.
  std::set<std::string, std::less<>> answered_;
};

} // namespace superstep::cli

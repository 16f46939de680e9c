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

/// Shows a conversation as lines: answers as they come, a line for each call and each result.
/// What models and tools say is shown as visible_text().
class chat_view {
public:
  chat_view(std::ostream& out, bool has_colours) : out_{out}, has_colours_{has_colours} {}

  /// An event of a run of a conversation (make_conversation), streamed with `modes`.
  void hear(const detail::run_event& event);
  static constexpr auto modes = stream_mode::messages | stream_mode::updates;
  /// The run is over; whatever it was saying ends here.
  void end_answer();

  void history(const message_list& messages);
  void question(const human_interrupt& asked);
  void failed(std::string_view text);
  /// A remark of the program's own.
  void remark(std::string_view text);
  /// Shown where something can be typed; what follows is typed behind it.
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
  std::string said_;                                        ///< of the answer that is under way
  std::map<std::string, std::size_t, std::less<>> numbers_; ///< of calls that are not alone, by id
  struct unasked_call {
    std::string name;
    json::object args;
    std::size_t number;
  };
  std::vector<unasked_call> unasked_; ///< calls of the last answer, if it has several
  /// Ids of calls whose result was shown: a run that goes on tells of all its step once more.
  std::set<std::string, std::less<>> answered_;
};

} // namespace superstep::cli

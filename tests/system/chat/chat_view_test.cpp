// SPDX-License-Identifier: Apache-2.0
// The display of chat events: pieces, calls, results, reviews and terminal control characters.
#include "cli/chat_view.hpp"

#include <superstep/agents/agent_options.hpp>
#include <superstep/messages/messages.hpp>

#include <boost/test/unit_test.hpp>

#include <sstream>
#include <string>
#include <utility>

using namespace superstep;
using superstep::cli::chat_view;

BOOST_AUTO_TEST_SUITE(chat_view_suite)

namespace {

detail::run_event piece(std::string text) {
  auto chunk = message_chunk{};
  chunk.part = ai_message(std::move(text));
  auto out = detail::run_event{};
  out.mode = stream_mode::messages;
  out.node = "agent";
  out.message = value{std::move(chunk)};
  return out;
}

detail::run_event wrote(std::string node, message_list messages) {
  auto out = detail::run_event{};
  out.mode = stream_mode::updates;
  out.node = std::move(node);
  out.writes = detail::input_writes(update{set<&chat_state::messages>(std::move(messages))});
  return out;
}

/// Returns the display of some events.
template <class... Events>
std::string shown(bool has_colours, const Events&... events) {
  auto out = std::ostringstream{};
  auto view = chat_view{out, has_colours};
  (view.hear(events), ...);
  view.end_answer();
  return out.str();
}

tool_call call(std::string id, std::string name) {
  return {std::move(id), std::move(name), {}};
}

} // namespace

BOOST_AUTO_TEST_CASE(pieces_of_answer_are_shown_as_they_arrive) {
  BOOST_TEST(shown(false, piece("Hel")) == "Hel\n");
  BOOST_TEST(shown(false, piece("Hel"), piece("lo"), wrote("agent", {ai_message("Hello")})) ==
             "Hello\n");
  BOOST_TEST(shown(false, wrote("agent", {ai_message("Hello")})) == "Hello\n");
}

BOOST_AUTO_TEST_CASE(answer_that_differs_from_streamed_pieces_is_shown) {
  BOOST_TEST(shown(false, piece("I will call"), wrote("agent", {ai_message("Sorry.")})) ==
             "I will call\nSorry.\n");
}

BOOST_AUTO_TEST_CASE(calls_are_numbered_and_results_name_their_call) {
  const auto asking = ai_message("", {call("c1", "book"), call("c2", "book")});
  auto failed = tool_message("Error: closed\n Please fix.", "c1", "book");
  failed.is_error = true;
  BOOST_TEST(
      shown(false, wrote("agent", {asking}), wrote("tools", {tool_message("done", "c2", "book")}),
            wrote("tools", {failed})) == "  -> [1] book {}\n  -> [2] book {}\n  <- [2] book: done\n"
                                         "  <- [1] book: Error: closed  Please fix.\n");
  BOOST_TEST(shown(false, wrote("agent", {ai_message("", {call("c1", "book")})}),
                   wrote("tools", {tool_message("done", "c1", "book")})) ==
             "  -> book {}\n  <- book: done\n");
}

BOOST_AUTO_TEST_CASE(message_written_by_hook_is_not_shown) {
  BOOST_TEST(shown(false, wrote("pre_model_hook", {ai_message("Hello")})) == "");
}

BOOST_AUTO_TEST_CASE(control_characters_of_answers_are_escaped) {
  BOOST_TEST(shown(false, piece("a\x1b[31mb")) == "a<U+001B>[31mb\n");
  BOOST_TEST(shown(true, wrote("tools", {tool_message("x", "c1", "t")})) ==
             "\x1b[2m  <- t: x\x1b[0m\n");
}

BOOST_AUTO_TEST_CASE(reviews_show_call_numbers_and_invisible_characters) {
  auto first = call("c1", "book");
  auto second = first;
  first.args = json::object{{"to", "a\u202Eb\u200B"}};
  second.args = json::object{{"to", "c\u2028"}};
  second.id = "c2";
  auto out = std::ostringstream{};
  auto view = chat_view{out, false};
  view.hear(wrote("agent", {ai_message("", {first, second})}));
  out.str("");
  view.question({{"book", second.args}, {}, {}});
  view.question({{"book", first.args}, {}, {}});
  view.question({{"bo\u202Eok", first.args}, {}, {}});
  const auto text = out.str();
  BOOST_TEST(text.find("Review of book [2]:\n  {\"to\":\"c<U+2028>\"}\n") == 0u, text);
  BOOST_TEST(text.find("Review of book [1]:\n  {\"to\":\"a<U+202E>b<U+200B>\"}\n") != text.npos,
             text);
  BOOST_TEST(text.find("Review of bo<U+202E>ok:\n") != text.npos, text);
}

BOOST_AUTO_TEST_CASE(calls_under_review_are_shown_once_in_a_session) {
  auto out = std::ostringstream{};
  auto view = chat_view{out, false};
  const auto messages =
      message_list{human_message("x"), ai_message("", {call("c1", "book"), call("c2", "book")})};
  view.show_reviewed_calls(messages);
  view.show_reviewed_calls(messages);
  view.question({{"book", {}}, {}, {}});
  view.question({{"book", {}}, {}, {}});
  const auto text = out.str();
  BOOST_TEST(text.find("  -> [1] book {}\n  -> [2] book {}\nReview of book [1]:") == 0U, text);
  BOOST_TEST(text.find("Review of book [2]:") != text.npos, text);
}

BOOST_AUTO_TEST_SUITE_END()

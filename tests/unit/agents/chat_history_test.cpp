// SPDX-License-Identifier: Apache-2.0
// Checks of chat histories: the last AI message and unanswered tool calls.
#include "agents/chat_history.hpp"

#include <boost/test/unit_test.hpp>

using namespace superstep;

namespace {

message calling(std::string id) {
  return ai_message("", {tool_call{std::move(id), "add", {}}});
}

} // namespace

BOOST_AUTO_TEST_CASE(last_ai_message_skips_later_tool_messages) {
  BOOST_TEST(last_ai_message({}) == nullptr);
  BOOST_TEST(last_ai_message({human_message("q")}) == nullptr);
  const auto list = message_list{calling("a"), ai_message("second"), tool_message("1", "a", "add")};
  BOOST_TEST(last_ai_message(list)->content == "second");
}

BOOST_AUTO_TEST_CASE(history_with_answered_calls_is_valid) {
  const auto list = message_list{human_message("q"), calling("a"), tool_message("1", "a", "add")};
  BOOST_TEST(!unanswered_call(list, true).has_value());
  BOOST_TEST(!unanswered_call(list, false).has_value());
}

BOOST_AUTO_TEST_CASE(history_check_reports_the_unanswered_call) {
  const auto fault =
      unanswered_call({human_message("q"), calling("a"), tool_message("1", "b", "add")}, true);
  BOOST_REQUIRE(fault.has_value());
  BOOST_TEST(fault->find(R"([{"name":"add","args":{},"id":"a","type":"tool_call"}])") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(only_full_history_check_finds_earlier_unanswered_calls) {
  const auto list = message_list{calling("a"), human_message("q"), ai_message("hm")};
  BOOST_TEST(unanswered_call(list, true).has_value());
  BOOST_TEST(!unanswered_call(list, false).has_value());
}

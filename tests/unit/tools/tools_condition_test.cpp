// SPDX-License-Identifier: Apache-2.0
// tools_condition(): routing by the calls of the last message.
#include <superstep/tools/tool_node.hpp>

#include <boost/test/unit_test.hpp>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(tools_conditions)

BOOST_AUTO_TEST_CASE(only_calls_in_last_message_route_to_tools) {
  auto messages = message_list{};
  messages.push_back(human_message("q"));
  messages.push_back(ai_message("", {{"c1", "echo", {}}}));
  BOOST_TEST(tools_condition(messages).value() == "tools");
  messages.push_back(human_message("never mind"));
  BOOST_TEST(tools_condition(messages).value() == "__end__");
}

BOOST_AUTO_TEST_CASE(tools_condition_reads_messages_of_given_key) {
  const auto state =
      json::parse(R"({"chat":[{"type":"ai","content":"","tool_calls":[{"name":"e"}]}],
                      "messages":[{"type":"ai","content":"done","tool_calls":[]}]})")
          .as_object();
  BOOST_TEST(tools_condition(state, "chat").value() == "tools");
  BOOST_TEST(tools_condition(state).value() == "__end__");
}

BOOST_AUTO_TEST_CASE(tools_condition_rejects_state_without_messages) {
  BOOST_TEST(tools_condition(message_list{}).has_error());
  const auto state = json::parse(R"({"chat":[]})").as_object();
  BOOST_TEST(tools_condition(state).error().text ==
             R"(cannot choose the next node: the state has no messages; the state: {"chat":[]})");
  BOOST_TEST(tools_condition(state, "chat").has_error());
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// Message factories, text, and formatting.
#include "messages/python_text.hpp"

#include <superstep/messages/history.hpp>
#include <superstep/messages/messages.hpp>

#include <boost/test/unit_test.hpp>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(messages)

BOOST_AUTO_TEST_CASE(message_factories_set_type_and_given_members) {
  BOOST_TEST((human_message("h").type == message_type::human));
  BOOST_TEST((system_message("s").type == message_type::system));
  const auto ai = ai_message("a", {{"c1", "f", {}}});
  BOOST_TEST((ai.type == message_type::ai));
  BOOST_TEST(ai.tool_calls.at(0).name == "f");
  const auto tool = tool_message("t", "c1", "f");
  BOOST_TEST((tool.type == message_type::tool));
  BOOST_TEST(tool.tool_call_id == "c1");
  BOOST_TEST(tool.name == "f");
  BOOST_TEST((remove_message("m1").type == message_type::remove));
  BOOST_TEST(remove_message("m1").id == "m1");
}

BOOST_AUTO_TEST_CASE(text_of_joins_strings_and_text_blocks) {
  auto m = ai_message("");
  m.blocks = json::array{"one ", json::object{{"type", "text"}, {"text", "two"}},
                         json::object{{"type", "image"}, {"text", "not this"}},
                         json::object{{"type", "text"}, {"text", 3}}};
  BOOST_TEST(text_of(m) == "one two");
  BOOST_TEST(text_of(human_message("plain")) == "plain");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(pretty_text_shows_heading_content_and_tool_calls) {
  BOOST_TEST(
      pretty_text(human_message("hi")) ==
      "================================ Human Message =================================\n\nhi");
  auto call = tool_call{"c1", "add", {}};
  call.args["x"] = 1;
  call.args["unit"] = "m";
  auto answer = ai_message("I add.", {call});
  answer.name = "math";
  BOOST_TEST(pretty_text(answer) ==
             "================================== Ai Message ==================================\n"
             "Name: math\n\nI add.\nTool Calls:\n  add (c1)\n  Args:\n    x: 1\n    unit: m");
  auto picture = human_message({});
  picture.blocks = json::array{"look", json::object{{"type", "image"}, {"url", "u"}}};
  BOOST_TEST(pretty_text(message_list{picture, human_message("and?")})
                 .ends_with("look\n[image]\n\n"
                            "================================ Human Message "
                            "=================================\n\nand?"));
}

BOOST_AUTO_TEST_CASE(python_text_escapes_unprintable_characters) {
  BOOST_TEST(python_text("é \u00a0\u200b\U000e0001😀") == R"('é \xa0\u200b\U000e0001😀')");
}

// SPDX-License-Identifier: Apache-2.0
// The chat-completions form of messages and tools, and parsing of tool arguments.
#include "messages/openai_json.hpp"

#include <superstep/messages/message_json.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <string>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(chat_completion_messages)

namespace {

struct wire_case {
  std::string_view name, in, out;
};
std::ostream& operator<<(std::ostream& out, const wire_case& c) {
  return out << c.name;
}

const auto sent = std::vector<wire_case>{
    {"human", R"({"type":"human","content":"h","name":"n"})",
     R"({"role":"user","content":"h","name":"n"})"},
    {"developer", R"({"role":"developer","content":"d"})", R"({"role":"developer","content":"d"})"},
    {"empty content beside calls is null",
     R"({"type":"ai","content":"","tool_calls":[{"name":"f","args":{"a":1},"id":"c"}]})",
     R"({"role":"assistant","content":null,"tool_calls":[{"type":"function","id":"c","function":{"name":"f","arguments":"{\"a\":1}"}}]})"},
    {"invalid calls are sent as the model wrote them",
     R"({"type":"ai","content":"x","invalid_tool_calls":[{"name":"f","args":"{bad","id":"c"}]})",
     R"({"role":"assistant","content":"x","tool_calls":[{"type":"function","id":"c","function":{"name":"f","arguments":"{bad"}}]})"},
    {"a tool message", R"({"type":"tool","content":"r","tool_call_id":"c","artifact":1})",
     R"({"role":"tool","content":"r","tool_call_id":"c"})"},
    {"foreign blocks are left out",
     R"({"type":"ai","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"A"},"B"]})",
     R"({"role":"assistant","content":[{"type":"text","text":"A"},{"type":"text","text":"B"}]})"},
};

const auto received = std::vector<wire_case>{
    {"text", R"({"role":"assistant","content":"Hello"})", R"({"type":"ai","content":"Hello"})"},
    {"null content", R"({"content":null,"tool_calls":null})", R"({"type":"ai","content":""})"},
    {"empty arguments",
     R"({"content":null,"tool_calls":[{"id":"1","function":{"name":"a","arguments":""}},{"id":"2","function":{"name":"a","arguments":null}},{"id":"3","function":{"name":"a","arguments":"null"}}]})",
     R"({"type":"ai","content":"","tool_calls":[{"name":"a","args":{},"id":"1","type":"tool_call"},{"name":"a","args":{},"id":"2","type":"tool_call"},{"name":"a","args":{},"id":"3","type":"tool_call"}]})"},
    {"raw line breaks in arguments",
     "{\"content\":\"\",\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"a\",\"arguments\":"
     "\"{\\\"p\\\": \\\"x\\ny\\\"}\"}}]}",
     R"({"type":"ai","content":"","tool_calls":[{"name":"a","args":{"p":"x\ny"},"id":"1","type":"tool_call"}]})"},
    {"arguments as an object",
     R"({"content":"","tool_calls":[{"id":"1","function":{"name":"a","arguments":{"p":1}}}]})",
     R"({"type":"ai","content":"","tool_calls":[{"name":"a","args":{"p":1},"id":"1","type":"tool_call"}]})"},
    {"arguments that are no object",
     R"({"content":"","tool_calls":[{"id":"1","function":{"name":"a","arguments":"[1]"}}]})",
     R"({"type":"ai","content":"","invalid_tool_calls":[{"name":"a","args":"[1]","id":"1","error":"the arguments must be a JSON object, got a list","type":"invalid_tool_call"}]})"},
    {"a refusal", R"({"content":null,"refusal":"no"})",
     R"({"type":"ai","content":"","additional_kwargs":{"refusal":"no"}})"},
};

/// Reads an answer. Adds the role if the text has none.
result<message> read_answer(std::string_view text) {
  if (text.find(R"("role")") != std::string_view::npos)
    return from_openai(text);
  return from_openai(R"({"role":"assistant",)" + std::string{text.substr(1)});
}

} // namespace

BOOST_DATA_TEST_CASE(messages_are_written_in_chat_completions_form,
                     boost::unit_test::data::make(sent), c) {
  const auto m = message_from_json(*parse_json(c.in));
  BOOST_REQUIRE(m.has_value());
  BOOST_TEST(to_text(to_openai(*m)) == c.out);
}

BOOST_DATA_TEST_CASE(chat_completion_answers_are_parsed_as_messages,
                     boost::unit_test::data::make(received), c) {
  const auto m = read_answer(c.in);
  BOOST_TEST_INFO((m.has_error() ? m.error().text : ""));
  BOOST_REQUIRE(m.has_value());
  BOOST_TEST(to_text(to_json(*m)) == c.out);
}

BOOST_AUTO_TEST_CASE(invalid_tool_arguments_are_kept_with_parse_error) {
  const auto m = read_answer(
      R"({"content":"","tool_calls":[{"id":"1","function":{"name":"a","arguments":"{oops"}},{"id":"2","function":{"name":"b","arguments":"{}"}}]})");
  BOOST_REQUIRE(m.has_value());
  BOOST_TEST(m->tool_calls.size() == 1U);
  BOOST_REQUIRE(m->invalid_tool_calls.size() == 1U);
  BOOST_TEST(m->invalid_tool_calls[0].args == "{oops");
  BOOST_TEST(m->invalid_tool_calls[0].error.starts_with("not valid JSON"));
}

BOOST_AUTO_TEST_CASE(parsed_message_is_not_changed_by_the_next_answer) {
  const auto m = read_answer(
      R"({"content":[{"type":"text","text":"a"}],"refusal":["no"],"tool_calls":[{"id":"1","function":{"name":"f","arguments":{"b":[1]}}}]})");
  BOOST_REQUIRE(m.has_value());
  BOOST_REQUIRE(
      read_answer(R"({"content":"another answer, which the same parser reads"})").has_value());
  BOOST_TEST(to_text(*m->blocks) == R"([{"type":"text","text":"a"}])");
  BOOST_TEST(to_text(m->tool_calls[0].args) == R"({"b":[1]})");
  BOOST_TEST(to_text(m->additional_kwargs) == R"({"refusal":["no"]})");
}

BOOST_AUTO_TEST_CASE(whitespace_and_truncated_arguments_make_invalid_calls) {
  BOOST_TEST(std::holds_alternative<invalid_tool_call>(parse_tool_call("c", "f", "  ")));
  BOOST_TEST(std::holds_alternative<tool_call>(parse_tool_call("c", "f", "")));
  BOOST_TEST(std::holds_alternative<invalid_tool_call>(parse_tool_call("c", "f", "", "cut")));
}

BOOST_AUTO_TEST_CASE(malformed_chat_completion_answer_is_rejected) {
  for (const auto* text : {R"({"content":3})", R"({"content":"","tool_calls":{}})",
                           R"({"content":"","tool_calls":[{"id":"1"}]})",
                           R"({"content":"","tool_calls":[{"function":{"arguments":"{}"}}]})"})
    BOOST_TEST(read_answer(text).has_error());
  for (const auto* text : {R"({"role":"user","content":"x"})", R"({"content":"x"})", "[]"})
    BOOST_TEST(from_openai(text).has_error());
}

BOOST_AUTO_TEST_CASE(answer_with_a_key_twice_is_rejected) {
  for (const auto* text :
       {R"({"content":"x","content":"y"})", R"({"content":"x","usage":{"a":1,"\u0061":2}})",
        R"({"content":"","tool_calls":[{"function":{"name":"f","name":"g"}}]})"}) {
    const auto m = read_answer(text);
    BOOST_REQUIRE(m.has_error());
    BOOST_TEST(m.error().text.find("appears twice") != std::string::npos, m.error().text);
  }
}

BOOST_AUTO_TEST_CASE(tool_definition_is_written_as_function) {
  const auto tool = tool_definition{"f", "does f", json::object{{"type", "object"}}};
  BOOST_TEST(
      to_text(to_openai(tool)) ==
      R"({"type":"function","function":{"name":"f","description":"does f","parameters":{"type":"object"}}})");
}

BOOST_AUTO_TEST_CASE(append_openai_writes_same_text_as_to_openai) {
  const auto tool = tool_definition{"f\"", "line\n", json::object{{"type", "object"}, {"n", 1.0}}};
  auto text = std::string{};
  append_openai(text, tool);
  BOOST_TEST(text == to_text(to_openai(tool)));
}

BOOST_AUTO_TEST_SUITE_END()

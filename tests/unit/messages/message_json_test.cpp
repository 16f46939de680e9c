// SPDX-License-Identifier: Apache-2.0
// Reading messages in all supported forms, and writing them.
#include <superstep/messages/message_json.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <string>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(messages_as_json)

namespace {

struct form_case {
  std::string_view name, in, out; ///< input in any form; canonical JSON or part of the error
};
std::ostream& operator<<(std::ostream& out, const form_case& c) {
  return out << c.name;
}

const auto forms = std::vector<form_case>{
    {"a bare string is human", R"("hi")", R"({"type":"human","content":"hi"})"},
    {"a pair", R"(["system","s"])", R"({"type":"system","content":"s"})"},
    {"roles of servers", R"({"role":"user","content":"x"})", R"({"type":"human","content":"x"})"},
    {"developer keeps its role", R"({"role":"developer","content":"d"})",
     R"({"type":"system","content":"d","additional_kwargs":{"__openai_role__":"developer"}})"},
    {"null content is empty", R"({"role":"assistant","content":null})",
     R"({"type":"ai","content":""})"},
    {"calls of servers",
     R"({"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]})",
     R"({"type":"ai","content":"","tool_calls":[{"name":"f","args":{"a":1},"id":"c1","type":"tool_call"}]})"},
    {"our own calls",
     R"({"type":"ai","content":"","id":"m","name":"n","tool_calls":[{"name":"f","args":{"a":1.0},"id":null,"type":"tool_call"}]})",
     R"({"type":"ai","content":"","name":"n","id":"m","tool_calls":[{"name":"f","args":{"a":1.0},"id":null,"type":"tool_call"}]})"},
    {"invalid calls",
     R"({"type":"ai","content":"","invalid_tool_calls":[{"name":"f","args":"{bad","id":"c9","error":"oops","type":"invalid_tool_call"}]})",
     R"({"type":"ai","content":"","invalid_tool_calls":[{"name":"f","args":"{bad","id":"c9","error":"oops","type":"invalid_tool_call"}]})"},
    {"a tool message",
     R"({"role":"tool","content":"r","tool_call_id":"c1","name":"f","status":"error","artifact":[1]})",
     R"({"type":"tool","content":"r","name":"f","tool_call_id":"c1","status":"error","artifact":[1]})"},
    {"success is not written",
     R"({"type":"tool","content":"r","tool_call_id":"c1","status":"success"})",
     R"({"type":"tool","content":"r","tool_call_id":"c1"})"},
    {"unknown members are kept",
     R"({"role":"user","content":"x","foo":1,"additional_kwargs":{"bar":2}})",
     R"({"type":"human","content":"x","additional_kwargs":{"foo":1,"bar":2}})"},
    {"blocks", R"({"role":"user","content":[{"type":"text","text":"a"},"b"]})",
     R"({"type":"human","content":[{"type":"text","text":"a"},"b"]})"},
    {"usage and metadata",
     R"({"type":"ai","content":"x","usage_metadata":{"input_tokens":1,"output_tokens":2,"total_tokens":3,"output_token_details":{"reasoning":1}},"response_metadata":{"model_name":"m"}})",
     R"({"type":"ai","content":"x","usage_metadata":{"input_tokens":1,"output_tokens":2,"total_tokens":3,"output_token_details":{"reasoning":1}},"response_metadata":{"model_name":"m"}})"},
    {"counts that only one provider has",
     R"({"type":"ai","content":"x","usage_metadata":{"input_tokens":1,"output_tokens":2,"total_tokens":3,"tool \"a\"":{"b":1}}})",
     R"({"type":"ai","content":"x","usage_metadata":{"input_tokens":1,"output_tokens":2,"total_tokens":3,"tool \"a\"":{"b":1}}})"},
    {"unknown members go to additional_kwargs",
     R"({"role":"assistant","content":"x","usage_metadata":{"n":1},"invalid_tool_calls":[2]})",
     R"({"type":"ai","content":"x","additional_kwargs":{"usage_metadata":{"n":1},"invalid_tool_calls":[2]}})"},
    {"an empty list of a server is empty content", R"({"role":"user","content":[]})",
     R"({"type":"human","content":""})"},
    {"an empty list in canonical form is kept", R"({"type":"human","content":[]})",
     R"({"type":"human","content":[]})"},
    {"example: false is not written", R"({"type":"human","content":"x","example":false})",
     R"({"type":"human","content":"x"})"},
    {"an example", R"({"type":"human","content":"x","example":true})",
     R"({"type":"human","content":"x","additional_kwargs":{"example":true}})"},
    {"a result without a status",
     R"({"role":"tool","content":"r","tool_call_id":"c1","status":null})",
     R"({"type":"tool","content":"r","tool_call_id":"c1"})"},
    {"a result of a call without an id", R"({"role":"tool","content":"r","tool_call_id":""})",
     R"({"type":"tool","content":"r","tool_call_id":""})"},
    {"a result that is an object", R"({"role":"tool","content":{"a":1},"tool_call_id":"c1"})",
     R"({"type":"tool","content":"{'a': 1}","tool_call_id":"c1"})"},
    {"a result with values in it", R"({"role":"tool","content":[1.0,"b",{}],"tool_call_id":"c1"})",
     R"({"type":"tool","content":["1.0","b",{}],"tool_call_id":"c1"})"},
    {"numbers for ids", R"({"role":"tool","content":5,"id":6,"tool_call_id":7})",
     R"({"type":"tool","content":"5","id":"6","tool_call_id":"7"})"},
    {"a function without a name", R"({"role":"function","content":"r","name":""})",
     R"({"type":"function","content":"r","name":""})"},
    {"no arguments in a call that was kept",
     R"({"type":"ai","content":"","additional_kwargs":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"null"}}]}})",
     R"({"type":"ai","content":"","tool_calls":[{"name":"f","args":{},"id":"c","type":"tool_call"}],"additional_kwargs":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"null"}}]}})"},
    {"a remove message has no content",
     R"({"type":"remove","id":"m1","content":[{"type":"text"}]})",
     R"({"type":"remove","content":"","id":"m1"})"},
    {"removal", R"({"type":"remove","id":"m1","content":""})",
     R"({"type":"remove","content":"","id":"m1"})"},
    {"calls without content",
     R"({"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":""}}]})",
     R"({"type":"ai","content":"","tool_calls":[{"name":"f","args":{},"id":"c","type":"tool_call"}]})"},
};

const auto faults = std::vector<form_case>{
    {"no role", R"([{"content":"x"}])", "messages[0]: a message needs `role`"},
    {"unknown role", R"(["a",{"role":"robot","content":"x"}])",
     "messages[1].role: Unexpected message type: 'robot'"},
    {"no content", R"([{"role":"user"}])", "messages[0]: a message needs"},
    {"a triple", R"([["human","a","b"]])", "messages[0]: a message in list form must be a pair"},
    {"a number", "[3]", "messages[0]: a message must be an object"},
    {"content of a wrong kind", R"([{"role":"user","content":3}])",
     "messages[0].content: must be a string"},
    {"a block of a wrong kind", R"([{"role":"user","content":["a",3]}])",
     "messages[0].content[1]: a block"},
    {"a tool message without its call", R"([{"role":"tool","content":"r"}])",
     "messages[0].tool_call_id"},
    {"arguments that are no JSON",
     R"([{"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{bad"}}]}])",
     "messages[0].tool_calls[0].function.arguments: not valid JSON"},
    {"a call without a name", R"([{"role":"ai","content":"","tool_calls":[{"args":{}}]}])",
     "messages[0].tool_calls[0].name: must be a string"},
    {"args of a wrong kind",
     R"([{"role":"ai","content":"","tool_calls":[{"name":"f","args":"x"}]}])",
     "messages[0].tool_calls[0].args: must be an object"},
    {"an id of a wrong kind", R"([{"role":"user","content":"x","id":true}])", "messages[0].id"},
    {"a status of null", R"([{"type":"tool","content":"x","tool_call_id":"c","status":null}])",
     "messages[0].status: must be"},
    {"tokens of a wrong kind",
     R"([{"type":"ai","content":"x","usage_metadata":{"input_tokens":"many","output_tokens":1,"total_tokens":1}}])",
     "messages[0].usage_metadata.input_tokens: must be an integer"},
    {"tokens that are not counted",
     R"([{"type":"ai","content":"x","usage_metadata":{"input_tokens":1,"output_tokens":1}}])",
     "messages[0].usage_metadata: must have `total_tokens`"},
};

} // namespace

BOOST_DATA_TEST_CASE(every_input_form_is_written_canonically, boost::unit_test::data::make(forms),
                     c) {
  const auto read = message_from_json(*parse_json(c.in));
  BOOST_TEST_INFO((read.has_error() ? read.error().text : ""));
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST(to_text(to_json(*read)) == c.out);
  auto direct = std::string{};
  append_json(direct, *read);
  BOOST_TEST(direct == c.out);
  const auto again = message_from_json(*parse_json(direct));
  BOOST_REQUIRE(again.has_value());
  BOOST_TEST((*again == *read));
}

BOOST_DATA_TEST_CASE(invalid_message_error_names_the_json_path,
                     boost::unit_test::data::make(faults), c) {
  const auto read = messages_from_json(*parse_json(c.in));
  BOOST_REQUIRE(read.has_error());
  BOOST_TEST_INFO(read.error().text);
  BOOST_TEST(read.error().text.starts_with(c.out));
}

BOOST_AUTO_TEST_CASE(message_list_json_round_trips) {
  const auto list = message_list{human_message("a \"quoted\" \n text"),
                                 ai_message("b", {{"c", "f", {}}}), tool_message("t", "c", "f")};
  auto text = std::string{};
  append_json(text, list);
  const auto again = messages_from_json(*parse_json(text));
  BOOST_REQUIRE(again.has_value());
  BOOST_TEST((*again == list));
}

BOOST_AUTO_TEST_CASE(stored_messages_keep_provider_specific_token_counts) {
  auto answer = ai_message("x", {{"c", "f", {}}});
  answer.usage = token_usage{1, 2, 3, {}, {}, {{"tools", 4}, {"\"", json::object{{"a", 5}}}}};
  const auto list = message_list{answer, tool_message("r", "", "f")};
  auto text = std::string{};
  stored_form<message_list>::write(text, list, 0);
  auto again = message_list{};
  BOOST_REQUIRE(stored_form<message_list>::read(*parse_json(text), again).has_value());
  BOOST_TEST((again == list));
}

BOOST_AUTO_TEST_CASE(single_message_is_read_as_list_of_one) {
  const auto list = messages_from_json(*parse_json(R"("hi")"));
  BOOST_REQUIRE(list.has_value());
  BOOST_TEST(list->size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

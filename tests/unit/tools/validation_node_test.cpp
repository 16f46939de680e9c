// SPDX-License-Identifier: Apache-2.0
// Validation nodes: arguments of calls checked against schemas, without running tools.
#include <superstep/tools/built_in_tools.hpp>
#include <superstep/tools/validation_node.hpp>

#include <boost/test/unit_test.hpp>

#include <stdexcept>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(validation_nodes)

namespace {

tool_definition person() {
  return {"Person", "",
          json::parse(R"({"type":"object","properties":{
      "name":{"type":"string","minLength":1},"age":{"type":"integer","minimum":0},
      "tags":{"type":"array","items":{"type":"string"},"default":[]},
      "homes":{"type":"array","items":{"type":"object","properties":{"city":{"type":"string"},
               "zip":{"type":"string"}},"required":["city"]}}},
      "required":["name"]})")
              .as_object()};
}

message_list asks(std::string_view arguments, std::string name = "Person") {
  auto out = message_list{};
  auto args = json::parse(json::string_view{arguments.data(), arguments.size()}).as_object();
  out.push_back(ai_message("", {{"c1", std::move(name), std::move(args)}}));
  return out;
}

message answer(const validation_node& node, std::string_view arguments) {
  return node.run(asks(arguments)).value().at(0);
}

} // namespace

BOOST_AUTO_TEST_CASE(valid_arguments_get_defaults_and_schema_order) {
  const auto node = validation_node{{person()}};
  const auto m = answer(node, R"({"homes":[{"city":"O","x":1}],"name":"Ola","y":2})");
  BOOST_TEST(m.content ==
             R"({"name":"Ola","age":null,"tags":[],"homes":[{"city":"O","zip":null}]})");
  BOOST_TEST(m.name == "Person");
  BOOST_TEST(m.tool_call_id == "c1");
  BOOST_TEST(!m.additional_kwargs.contains("is_error"));
}

BOOST_AUTO_TEST_CASE(invalid_arguments_are_answered_with_errors) {
  const auto m = answer(validation_node{{person()}}, R"({"name":"Ola","age":-1})");
  BOOST_TEST(m.additional_kwargs.at("is_error").as_bool());
  BOOST_TEST(!m.is_error);
  BOOST_TEST(m.content.starts_with("age: "));
  BOOST_TEST(m.content.ends_with("\n\nRespond after fixing all validation errors."));
}

BOOST_AUTO_TEST_CASE(format_error_determines_the_error_text) {
  auto options = validation_node_options{};
  options.format_error = [](const tool_call& call, const auto& faults) {
    return call.id + ' ' + faults.at(0).path;
  };
  BOOST_TEST(answer(validation_node{{person()}, options}, R"({"name":""})").content == "c1 name");
}

BOOST_AUTO_TEST_CASE(calls_are_validated_against_schemas_of_given_tools) {
  auto simulated = simulated_options{};
  simulated.name = "Person";
  simulated.args_schema = person().parameters;
  const auto node = validation_node{tool_list{make_simulated(simulated).value()}};
  BOOST_TEST(node.knows("Person"));
  BOOST_TEST(!node.knows("Nobody"));
  BOOST_TEST(answer(node, R"({})").additional_kwargs.contains("is_error"));
}

BOOST_AUTO_TEST_CASE(input_without_known_call_is_rejected) {
  const auto node = validation_node{{person()}};
  BOOST_TEST(node.run(message_list{}).error().text ==
             "the validation node cannot run: its input has no messages");
  auto messages = asks("{}");
  messages.push_back(human_message("q"));
  BOOST_TEST(node.run(messages).error().text ==
             "the validation node cannot run: the last message is not an AI message");
  const auto unknown = node.run(asks("{}", "Nope")).error();
  BOOST_TEST((unknown.code == errc::not_found));
  BOOST_TEST(unknown.text == "no schema has the name \"Nope\"");
}

BOOST_AUTO_TEST_CASE(invalid_or_duplicate_schemas_are_rejected) {
  BOOST_CHECK_THROW((validation_node{std::vector{person(), person()}}), std::invalid_argument);
  auto bad = person();
  bad.parameters["type"] = 7;
  BOOST_CHECK_THROW((validation_node{std::vector{bad}}), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

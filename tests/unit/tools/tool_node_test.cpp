// SPDX-License-Identifier: Apache-2.0
// Tool nodes: answers to calls, errors, result limits and lookup of tools.
#include <superstep/base/await.hpp>
#include <superstep/tools/make_tool.hpp>
#include <superstep/tools/tool_node.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(tool_nodes)

namespace {

struct text_args {
  std::string text;
};
BOOST_DESCRIBE_STRUCT(text_args, (), (text))

struct pay_args {
  int cents = 0;
};
BOOST_DESCRIBE_STRUCT(pay_args, (), (cents))

/// A tool with a JSON Schema that returns its arguments.
class showing final : public tool {
public:
  showing() {
    definition_.name = "showing";
    definition_.parameters =
        parse_json(R"({"type":"object","properties":{"q":{"type":"string"},)"
                   R"("lang":{"type":"string"},"n":{"type":"integer"}},"required":["q"]})")
            ->get_object();
  }
  [[nodiscard]] const tool_definition& definition() const noexcept override { return definition_; }
  [[nodiscard]] task<tool_output> run(const tool_call& call,
                                      const tool_context& /*context*/) const override {
    return later(call); // the call must live until the task has ended
  }

private:
  static task<tool_output> later(const tool_call& call) {
    auto out = tool_output{};
    out.content = to_text(call.args);
    co_return out;
  }
  tool_definition definition_;
};

tool_ptr echo(std::string name = "echo") {
  return make_tool<text_args>(std::move(name), "Says it again.",
                              [](const text_args& a) { return a.text; });
}

tool_ptr throwing() {
  return make_tool<text_args>("throwing", "", [](const text_args& a) -> std::string {
    if (a.text == "int")
      throw 7;
    throw std::runtime_error{a.text};
  });
}

tool_ptr structured() {
  return make_tool<text_args>("structured", "", [](const text_args& a) {
    return tool_output{R"({"said":")" + a.text + "\"}", false, json::value{1, 2}};
  });
}

message call(const tool_node& node, std::string name, json::object args) {
  return *sync_wait(node.run({"c1", std::move(name), std::move(args)}, {}));
}

} // namespace

BOOST_AUTO_TEST_CASE(call_is_answered_by_tool_message) {
  const auto node = tool_node{{echo(), structured()}};
  const auto m = call(node, "echo", {{"text", "hi"}});
  BOOST_TEST((m.type == message_type::tool));
  BOOST_TEST(m.content == "hi");
  BOOST_TEST(m.name == "echo");
  BOOST_TEST(m.tool_call_id == "c1");
  BOOST_TEST(!m.is_error);
  const auto s = call(node, "structured", {{"text", "hi"}});
  BOOST_TEST(s.content == R"({"said":"hi"})");
  BOOST_TEST((s.artifact == json::value{1, 2}));
}

BOOST_AUTO_TEST_CASE(unknown_tool_error_lists_available_tools) {
  const auto m = call(tool_node{{echo(), throwing()}}, "shout", {});
  BOOST_TEST(m.content == "Error: shout is not a valid tool, try one of [echo, throwing].");
  BOOST_TEST(m.name == "shout");
  BOOST_TEST(m.tool_call_id == "c1");
  BOOST_TEST(m.is_error);
}

BOOST_AUTO_TEST_CASE(mismatched_arguments_are_reported_with_path) {
  const auto m = call(tool_node{{echo()}}, "echo", {{"text", 3}});
  BOOST_TEST(m.is_error);
  BOOST_TEST(m.content ==
             "Error invoking tool 'echo' with kwargs {'text': 3} with error:\n text: "
             "Value type not permitted by 'type' constraint.\n Please fix the error and "
             "try again.");
  BOOST_TEST(call(tool_node{{echo()}}, "echo", {}).content.find("text: Field required") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(exception_of_tool_becomes_error_message) {
  const auto node = tool_node{{throwing()}};
  BOOST_TEST(call(node, "throwing", {{"text", "broken"}}).content ==
             "Error: broken\n Please fix your mistakes.");
  BOOST_TEST(call(node, "throwing", {{"text", "int"}}).is_error);
}

BOOST_AUTO_TEST_CASE(bad_calls_policy_answers_only_invalid_calls) {
  auto options = tool_node_options{};
  options.errors = tool_errors::bad_calls();
  for (const auto is_wrapped : {false, true}) {
    if (is_wrapped)
      options.wrap_call = [](tool_request request, const tool_execute& execute) {
        return execute(std::move(request));
      };
    const auto node = tool_node{{throwing()}, options};
    BOOST_CHECK_THROW(call(node, "throwing", {{"text", "broken"}}), std::runtime_error);
    BOOST_TEST(call(node, "throwing", {{"text", 3}}).is_error);
    BOOST_TEST(call(node, "unknown", {}).is_error);
  }
}

BOOST_AUTO_TEST_CASE(error_policy_applies_to_argument_struct) {
  const auto pay = make_tool("pay", "", [](const pay_args&) { return "paid"; });
  const auto too_much = json::object{{"cents", 3'000'000'000}}; // matches the schema
  const auto ask = [&](tool_errors errors) {
    auto options = tool_node_options{};
    options.errors = std::move(errors);
    return call(tool_node{{pay}, options}, "pay", too_much);
  };
  const auto text = std::string{
      "Error invoking tool 'pay' with kwargs {'cents': 3000000000} with error:\n cents: must be an "
      "integer from -2147483648 to 2147483647\n Please fix the error and try again."};
  BOOST_TEST(ask({}).content == text);
  BOOST_TEST(ask({}).is_error);
  BOOST_TEST(ask(tool_errors::bad_calls()).content == text);
  BOOST_TEST(ask(tool_errors::text("no")).content == "no");
  BOOST_TEST(ask(tool_errors::by([](const tool_invocation_error& e) {
               return "faults: " + std::to_string(e.faults().size());
             })).content == "faults: 1");
  BOOST_CHECK_THROW(ask(tool_errors::none()), tool_invocation_error);
}

BOOST_AUTO_TEST_CASE(tool_receives_arguments_without_ignored_nulls) {
  const auto node = tool_node{{std::make_shared<const showing>()}};
  BOOST_TEST(call(node, "showing", {{"q", "x"}, {"lang", nullptr}, {"n", 3.0}}).content ==
             R"({"q":"x","n":3.0})");
}

BOOST_AUTO_TEST_CASE(error_handler_handles_only_its_parameter_type) {
  auto options = tool_node_options{};
  options.errors = tool_errors::by(
      [](const std::runtime_error& e) { return std::string{"It said: "} + e.what(); });
  BOOST_TEST(call(tool_node{{throwing()}, options}, "throwing", {{"text", "no"}}).content ==
             "It said: no");
  options.errors = tool_errors::by([](const std::range_error&) { return std::string{"never"}; });
  BOOST_CHECK_THROW(call(tool_node{{throwing()}, options}, "throwing", {{"text", "no"}}),
                    std::runtime_error);
}

BOOST_AUTO_TEST_CASE(oversized_result_is_replaced_by_error) {
  auto options = tool_node_options{};
  options.result_bytes_max = 10;
  const auto node = tool_node{{echo()}, options};
  BOOST_TEST(call(node, "echo", {{"text", "0123456789"}}).content == "0123456789");
  const auto m = call(node, "echo", {{"text", "0123456789a"}});
  BOOST_TEST(m.is_error);
  BOOST_TEST(m.content.find("has 11 bytes; at most 10 are allowed") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(invalid_utf8_in_result_is_replaced) {
  const auto t =
      make_tool<text_args>("t", "", [](const text_args&) { return std::string{"a\xff"}; });
  BOOST_TEST(call(tool_node{{t}}, "t", {{"text", ""}}).content == "a\xef\xbf\xbd");
}

BOOST_AUTO_TEST_CASE(unparsable_call_is_answered_with_its_error) {
  const auto node = tool_node{{echo()}};
  const auto m = node.answer_invalid({"c9", "echo", "{bad", "not valid JSON"});
  BOOST_TEST(m.content == "Error invoking tool 'echo' with arguments {bad with error:\n not valid "
                          "JSON\n Please fix the error and try again.");
  BOOST_TEST(m.tool_call_id == "c9");
  BOOST_TEST(m.name == "echo");
  BOOST_TEST(m.is_error);
}

BOOST_AUTO_TEST_CASE(tools_keep_order_and_are_found_by_name) {
  const auto node = tool_node{{echo("b"), echo("a")}};
  BOOST_TEST(node.definitions()->at(0).name == "b");
  BOOST_TEST(node.definitions()->at(1).name == "a");
  BOOST_TEST((node.find("a") != nullptr && node.find("a")->definition().name == "a"));
  BOOST_TEST((node.find("c") == nullptr));
}

BOOST_AUTO_TEST_CASE(duplicate_or_empty_tool_names_are_rejected) {
  BOOST_CHECK_THROW(tool_node({echo(), echo()}), std::invalid_argument);
  BOOST_CHECK_THROW(tool_node({echo("")}), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

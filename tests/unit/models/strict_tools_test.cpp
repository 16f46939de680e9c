// SPDX-License-Identifier: Apache-2.0
// Tools in strict mode, in the form of each provider.
#include "models/http/wire_request.hpp"

#include <superstep/base/await.hpp>
#include <superstep/models/structured_model.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(strict_tools)

namespace {

/// Returns a request with two tools that have an optional parameter and an object parameter.
model_request make_request() {
  auto tool = tool_definition{};
  tool.name = "f";
  tool.parameters = parse_json(R"({"type":"object","properties":{"a":{"type":"string"},)"
                               R"("b":{"type":"object","properties":{"c":{"type":"integer"}}}},)"
                               R"("required":["a"]})")
                        ->get_object();
  auto out = model_request{};
  out.messages.push_back(human_message("hi"));
  out.tools = std::make_shared<const std::vector<tool_definition>>(2, tool);
  return out;
}

json::value body_of(provider_api api, const model_request& request) {
  auto options = provider_model_options{};
  options.api = api;
  options.model = "m";
  const auto written = models::write_request(options, request);
  BOOST_REQUIRE_MESSAGE(written.has_value(), (written ? "" : written.error().text));
  return parse_json(written->body).value();
}

/// Records the request it receives.
class heard_model final : public chat_model {
public:
  explicit heard_model(model_request& into) : into_{into} {}
  [[nodiscard]] task<result<message>> complete(model_request request) const override {
    into_ = std::move(request);
    co_return ai_message("");
  }
  [[nodiscard]] std::string fingerprint() const override { return "heard"; }

private:
  model_request& into_;
};

} // namespace

BOOST_AUTO_TEST_CASE(strict_tools_of_anthropic_describe_bounds) {
  auto request = make_request();
  auto tool = request.tools->front();
  tool.parameters["properties"].as_object()["a"] = {{"type", "string"}, {"maxLength", 3}};
  request.tools = std::make_shared<const std::vector<tool_definition>>(1, tool);
  for (const auto is_strict : {true, false}) {
    request.parameters["strict"] = is_strict;
    const auto body = body_of(provider_api::anthropic, request);
    const auto& a = body.at("tools").at(0).at("input_schema").at("properties").at("a");
    BOOST_TEST(to_text(a) == (is_strict ? R"({"type":"string","description":"{maxLength: 3}"})"
                                        : R"({"type":"string","maxLength":3})"));
  }
}

BOOST_AUTO_TEST_CASE(strict_mode_is_sent_only_to_supporting_apis) {
  auto request = make_request();
  const auto tools = [&](provider_api api) { return body_of(api, request).at("tools"); };
  for (const auto is_strict : {true, false}) {
    request.parameters["strict"] = is_strict;
    for (const auto i : {0U, 1U}) {
      const auto chat = tools(provider_api::openai_chat).at(i).at("function");
      const auto responses = tools(provider_api::openai_responses).at(i);
      const auto anthropic = tools(provider_api::anthropic).at(i);
      for (const auto* form : {&chat, &responses, &anthropic})
        BOOST_TEST(form->at("strict").as_bool() == is_strict);
      for (const auto* schema : {&chat.at("parameters"), &responses.at("parameters")}) {
        BOOST_TEST(to_text(schema->at("required")) == (is_strict ? R"(["a","b"])" : R"(["a"])"));
        BOOST_TEST(schema->at("properties").at("b").as_object().contains("required") == is_strict);
      }
      const auto& schema = anthropic.at("input_schema");
      BOOST_TEST(to_text(schema.at("required")) == R"(["a"])");
      for (const auto* object : {&schema, &schema.at("properties").at("b"), &chat.at("parameters")})
        BOOST_TEST(object->as_object().contains("additionalProperties") == is_strict);
    }
    BOOST_TEST(to_text(tools(provider_api::ollama)).find("strict") == std::string::npos);
  }
  request.parameters.erase("strict");
  BOOST_TEST(to_text(tools(provider_api::openai_chat)).find("strict") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(structured_output_tool_is_strict_only_if_requested) {
  auto format = answer_schema{};
  format.name = "point";
  format.schema = parse_json(R"({"type": "object", "properties": {"x": {"type": "number"}}})")
                      .value()
                      .as_object();
  for (const auto is_strict : {true, false}) {
    format.is_strict = is_strict;
    auto asked = model_request{};
    const auto model = std::make_shared<const heard_model>(asked);
    const auto structured =
        with_structured_output(model, format, structured_method::tool_call).value();
    static_cast<void>(sync_wait(structured.complete(make_request())));
    const auto tool = body_of(provider_api::openai_chat, asked).at("tools").at(0);
    BOOST_TEST(tool.at("function").as_object().contains("strict") == is_strict);
  }
}

BOOST_AUTO_TEST_SUITE_END()

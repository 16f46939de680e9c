// SPDX-License-Identifier: Apache-2.0
// Structured answers: how each provider is asked for JSON, and how an answer is checked.
#include "models/http/wire_request.hpp"
#include "models/scripted_answers.hpp"

#include <superstep/base/await.hpp>
#include <superstep/models/structured_model.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <memory>
#include <string>
#include <utility>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(structured_models)

namespace {

result<models::wire_request> written(provider_api api, const model_request& request) {
  auto options = provider_model_options{};
  options.api = api;
  options.model = "m";
  return models::write_request(options, request);
}

json::value body_of(provider_api api, const model_request& request) {
  const auto text = written(api, request);
  BOOST_REQUIRE_MESSAGE(text.has_value(), (text ? "" : text.error().text));
  return parse_json(text->body).value();
}

answer_schema point_schema() {
  auto out = answer_schema{};
  out.name = "point";
  out.schema = parse_json(R"({"type":"object","properties":{"x":{"type":"integer"}},)"
                          R"("required":["x"]})")
                   ->get_object();
  return out;
}

/// Returns the request that a structured model sends.
model_request request_by(structured_method method) {
  const auto model = std::make_shared<const test::scripted_answers>(
      std::vector<result<message>>{ai_message(R"({"x": 1})")});
  static_cast<void>(sync_wait(with_structured_output(model, point_schema(), method)->ask("JSON?")));
  return model->asked().at(0);
}

} // namespace

BOOST_AUTO_TEST_CASE(answer_schema_is_sent_in_each_providers_form) {
  auto format = answer_schema{};
  format.name = "point";
  format.schema["type"] = "object";
  auto request = model_request{};
  request.messages.push_back(human_message("hi"));
  request.format = std::make_shared<const answer_schema>(format);
  const auto at = [&](provider_api api) { return body_of(api, request); };
  const auto schema = json::value(format.schema);
  const auto chat = at(provider_api::openai_chat).at("response_format");
  BOOST_TEST((chat.at("json_schema").at("schema") == schema));
  BOOST_TEST(chat.at("json_schema").at("name").as_string() == "point");
  const auto responses = at(provider_api::openai_responses).at("text").at("format");
  BOOST_TEST(responses.at("type").as_string() == "json_schema");
  BOOST_TEST((responses.at("schema") == schema));
  const auto anthropic = at(provider_api::anthropic).at("output_config").at("format");
  BOOST_TEST(to_text(anthropic.at("schema")) ==
             R"({"type":"object","additionalProperties":false})");
  BOOST_TEST((at(provider_api::ollama).at("format") == schema));
}

BOOST_AUTO_TEST_CASE(json_mode_is_requested_without_the_schema) {
  const auto request = request_by(structured_method::json_object);
  const auto form = std::string{R"({"type":"json_object"})"};
  const auto at = [&](provider_api api) { return body_of(api, request); };
  BOOST_TEST(to_text(at(provider_api::openai_chat).at("response_format")) == form);
  BOOST_TEST(to_text(at(provider_api::openai_responses).at("text").at("format")) == form);
  BOOST_TEST(at(provider_api::ollama).at("format").as_string() == "json");
  const auto refused = written(provider_api::anthropic, request);
  BOOST_REQUIRE(refused.has_error());
  BOOST_TEST((refused.error().code == make_error_code(model_errc::bad_request)));
  BOOST_TEST(refused.error().text.find("JSON mode") != std::string::npos, refused.error().text);
}

BOOST_AUTO_TEST_CASE(json_mode_keeps_verbosity_of_openai_responses_request) {
  auto request = request_by(structured_method::json_object);
  request.parameters["verbosity"] = "low";
  const auto text = body_of(provider_api::openai_responses, request).at("text");
  BOOST_TEST(text.at("verbosity").as_string() == "low");
  BOOST_TEST(text.at("format").at("type").as_string() == "json_object");
}

BOOST_AUTO_TEST_CASE(json_mode_answers_are_checked_against_the_schema) {
  using expectation = std::pair<const char*, const char*>; // an answer and a part of its fault
  for (const auto& [answer, fault] : {expectation{R"({"x": 1})", ""},
                                      {R"({"x": "one"})", "does not match the schema"},
                                      {R"({"y": 1})", "does not match the schema"},
                                      {"[1]", "does not match the schema"},
                                      {"Sure!", "not valid JSON"},
                                      {R"({"x": )", "not valid JSON"}}) {
    const auto model = std::make_shared<const test::scripted_answers>(
        std::vector<result<message>>{ai_message(answer)});
    const auto structured =
        with_structured_output(model, point_schema(), structured_method::json_object);
    const auto got = sync_wait(structured->ask("?"));
    BOOST_REQUIRE(got.has_value());
    BOOST_TEST(got->fault.empty() == (*fault == '\0'), answer);
    BOOST_TEST(got->fault.find(fault) != std::string::npos, got->fault);
    BOOST_TEST(got->parsed.is_object() == got->fault.empty());
  }
}

BOOST_AUTO_TEST_SUITE_END()

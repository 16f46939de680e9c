// SPDX-License-Identifier: Apache-2.0
#include "models/http/wire_request.hpp"

#include <superstep/models/model_error.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdlib>

using namespace superstep;

namespace {

constexpr auto apis = std::array{provider_api::openai_chat, provider_api::openai_responses,
                                 provider_api::anthropic, provider_api::ollama};

model_request make_request() {
  auto tool = tool_definition{};
  tool.name = "f";
  tool.description = "d";
  tool.parameters["type"] = "object";
  auto out = model_request{};
  out.messages.push_back(human_message("hi \"you\""));
  out.tools = std::make_shared<const std::vector<tool_definition>>(1, tool);
  return out;
}

provider_model_options make_options(provider_api api = provider_api::openai_chat) {
  auto out = provider_model_options{};
  out.api = api;
  out.model = "m";
  return out;
}

json::value body_of(const provider_model_options& options, const model_request& request) {
  const auto written = models::write_request(options, request);
  BOOST_REQUIRE_MESSAGE(written.has_value(), (written ? "" : written.error().text));
  return parse_json(written->body).value();
}

} // namespace

BOOST_AUTO_TEST_CASE(parameters_of_a_request_go_over_those_of_the_model) {
  auto options = make_options();
  options.parameters["temperature"] = 0.5;
  options.parameters["max_tokens"] = 9;
  options.stream = true;
  auto request = make_request();
  request.parameters["temperature"] = 1;
  request.parameters["seed"] = 3;
  request.parameters["model"] = "other";
  const auto body = body_of(options, request);
  BOOST_TEST(body.at("model").as_string() == "other");
  BOOST_TEST(body.at("temperature").as_int64() == 1);
  BOOST_TEST(body.at("max_completion_tokens").as_int64() == 9);
  BOOST_TEST(body.at("seed").as_int64() == 3);
  BOOST_TEST(body.at("stream").as_bool());
  BOOST_TEST(body.at("stream_options").at("include_usage").as_bool());
  BOOST_TEST(body.at("tools").at(0).at("function").at("name").as_string() == "f");
  BOOST_TEST(body.at("messages").at(0).at("content").as_string() == "hi \"you\"");
  BOOST_TEST(models::write_request(options, request)->body ==
             models::write_request(options, request)->body);
}

BOOST_AUTO_TEST_CASE(the_system_prompt_goes_where_the_provider_wants_it) {
  auto request = make_request();
  request.system = std::make_shared<const message>(system_message("be brief"));
  const auto chat = body_of(make_options(), request);
  BOOST_TEST(chat.at("messages").as_array().size() == 2U);
  BOOST_TEST(chat.at("messages").at(0).at("role").as_string() == "system");
  const auto anthropic = body_of(make_options(provider_api::anthropic), request);
  BOOST_TEST(anthropic.at("system").as_string() == "be brief");
  BOOST_TEST(anthropic.at("max_tokens").as_int64() > 0); // the API asks for one
  const auto responses = body_of(make_options(provider_api::openai_responses), request);
  BOOST_TEST(responses.at("input").at(0).at("content").as_string() == "be brief");
}

BOOST_DATA_TEST_CASE(parameters_that_belong_to_the_agent_are_refused,
                     boost::unit_test::data::make({0, 1, 2, 3}), api) {
  for (const auto* name : {"messages", "tools", "stream", "stream_options", "n", "input"}) {
    auto request = make_request();
    request.parameters[name] = 1;
    BOOST_TEST(models::write_request(make_options(apis[static_cast<std::size_t>(api)]), request)
                   .has_error());
  }
}

BOOST_AUTO_TEST_CASE(the_choice_of_a_tool_is_said_in_the_providers_words) {
  auto request = make_request();
  request.parameters["tool_choice"] = "any";
  request.parameters["parallel_tool_calls"] = false;
  const auto chat = body_of(make_options(), request);
  BOOST_TEST(chat.at("tool_choice").as_string() == "required");
  BOOST_TEST(!chat.at("parallel_tool_calls").as_bool());
  for (const auto* any : {"any", "required"}) {
    request.parameters["tool_choice"] = any;
    const auto choice = body_of(make_options(provider_api::anthropic), request).at("tool_choice");
    BOOST_TEST(choice.at("type").as_string() == "any");
    BOOST_TEST(choice.at("disable_parallel_tool_use").as_bool());
  }
  request.parameters["tool_choice"] = "none";
  const auto none = body_of(make_options(provider_api::anthropic), request).at("tool_choice");
  BOOST_TEST(none.at("type").as_string() == "none");
}

BOOST_AUTO_TEST_CASE(the_schema_of_an_answer_goes_where_the_provider_wants_it) {
  auto format = answer_schema{};
  format.name = "point";
  format.schema["type"] = "object";
  auto request = make_request();
  request.format = std::make_shared<const answer_schema>(format);
  const auto at = [&](provider_api api) { return body_of(make_options(api), request); };
  const auto schema = json::value(format.schema);
  const auto chat = at(provider_api::openai_chat).at("response_format");
  BOOST_TEST((chat.at("json_schema").at("schema") == schema));
  BOOST_TEST(chat.at("json_schema").at("name").as_string() == "point");
  const auto responses = at(provider_api::openai_responses).at("text").at("format");
  BOOST_TEST(responses.at("type").as_string() == "json_schema");
  BOOST_TEST((responses.at("schema") == schema));
  const auto anthropic = at(provider_api::anthropic).at("output_config").at("format");
  BOOST_TEST((anthropic.at("schema") == schema));
  BOOST_TEST((at(provider_api::ollama).at("format") == schema));
}

BOOST_AUTO_TEST_CASE(what_a_provider_cannot_take_is_refused_before_the_call) {
  auto sound = message{};
  sound.blocks = json::array{
      json::object{{"type", "audio"}, {"base64", "UklGRg=="}, {"mime_type", "audio/wav"}}};
  auto request = model_request{};
  request.messages.push_back(sound);
  BOOST_TEST(models::write_request(make_options(), request).has_value());
  for (const auto api :
       {provider_api::openai_responses, provider_api::anthropic, provider_api::ollama}) {
    const auto refused = models::write_request(make_options(api), request);
    BOOST_REQUIRE(refused.has_error());
    BOOST_TEST((refused.error().code == make_error_code(model_errc::bad_request)));
    BOOST_TEST(refused.error().text.find("audio") != std::string::npos, refused.error().text);
  }
}

BOOST_AUTO_TEST_CASE(who_listens_is_streamed_to) {
  auto request = make_request();
  BOOST_TEST(!body_of(make_options(), request).at("stream").as_bool());
  BOOST_TEST(
      !body_of(make_options(provider_api::anthropic), request).as_object().contains("stream"));
  request.on_chunk = [](const message_chunk&) {};
  for (const auto api : apis)
    BOOST_TEST(body_of(make_options(api), request).at("stream").as_bool());
}

BOOST_AUTO_TEST_CASE(options_that_cannot_work_are_refused_when_the_model_is_made) {
  auto io = io_runtime{};
  const auto limits = std::make_shared<model_limits>(model_limits_options{});
  auto options = provider_model_options{};
  options.api_key_env = "SUPERSTEP_TEST_NO_SUCH_VARIABLE";
  BOOST_TEST(make_provider_model(options, io, limits).has_error());
  options.model = "m";
  const auto no_key = make_provider_model(options, io, limits);
  BOOST_TEST(no_key.error().text.find("SUPERSTEP_TEST_NO_SUCH_VARIABLE") != std::string::npos);
  options.api_key_env = "";
  options.base_url = "localhost:80";
  BOOST_TEST(make_provider_model(options, io, limits).has_error());
  options.base_url = "http://localhost/v1/";
  BOOST_TEST(make_provider_model(options, io, limits).has_value());
}

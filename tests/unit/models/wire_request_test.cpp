// SPDX-License-Identifier: Apache-2.0
// Requests as they are sent to each provider: parameters, tools, content, rejected input.
#include "models/http/wire_request.hpp"
#include "models/providers/anthropic.hpp"
#include "models/providers/ollama.hpp"
#include "models/providers/openai_chat.hpp"
#include "models/providers/openai_responses.hpp"
#include "models/wire_request_fixtures.hpp"

#include <superstep/messages/message_json.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdlib>

using namespace superstep;
using namespace superstep::test;

BOOST_AUTO_TEST_CASE(request_parameters_override_model_parameters) {
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

BOOST_AUTO_TEST_CASE(system_prompt_is_sent_in_each_providers_form) {
  auto request = make_request();
  request.system = std::make_shared<const message>(system_message("be brief"));
  const auto chat = body_of(make_options(), request);
  BOOST_TEST(chat.at("messages").as_array().size() == 2U);
  BOOST_TEST(chat.at("messages").at(0).at("role").as_string() == "system");
  const auto anthropic = body_of(make_options(provider_api::anthropic), request);
  BOOST_TEST(anthropic.at("system").as_string() == "be brief");
  BOOST_TEST(anthropic.at("max_tokens").as_int64() > 0); // the API requires it
  const auto responses = body_of(make_options(provider_api::openai_responses), request);
  BOOST_TEST(responses.at("input").at(0).at("content").as_string() == "be brief");
}

BOOST_DATA_TEST_CASE(reserved_request_parameters_are_rejected,
                     boost::unit_test::data::make({0, 1, 2, 3}), api) {
  for (const auto* name : {"messages", "tools", "stream", "stream_options", "n", "input"}) {
    auto request = make_request();
    request.parameters[name] = 1;
    BOOST_TEST(models::write_request(make_options(apis[static_cast<std::size_t>(api)]), request)
                   .has_error());
  }
}

BOOST_AUTO_TEST_CASE(tool_choice_is_sent_in_each_providers_form) {
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

BOOST_DATA_TEST_CASE(tool_choice_becomes_function_only_for_known_tool,
                     boost::unit_test::data::make({0, 1}), api) {
  auto request = make_request();
  request.parameters["tool_choice"] = "f";
  const auto options = make_options(apis[static_cast<std::size_t>(api)]);
  BOOST_TEST(body_of(options, request).at("tool_choice").at("type").as_string() == "function");
  request.parameters["tool_choice"] = "g"; // not a tool, so it is passed on as a keyword
  BOOST_TEST(body_of(options, request).at("tool_choice").as_string() == "g");
}

BOOST_AUTO_TEST_CASE(max_tokens_field_depends_on_server_and_option) {
  struct named {
    std::string base_url;
    std::optional<std::string> field;
    const char* wanted;
  };
  const auto all = std::vector<named>{
      {"", {}, "max_completion_tokens"},
      {"https://api.openai.com/v1", {}, "max_completion_tokens"},
      {"https://x.openai.azure.com/openai/v1?api-version=1", {}, "max_completion_tokens"},
      {"http://localhost:8000/v1", {}, "max_tokens"},
      {"https://api.openai.com.example.org/v1", {}, "max_tokens"},
      {"https://example.org/api.openai.com", {}, "max_tokens"},
      {"https://example.org", "max_completion_tokens", "max_completion_tokens"},
      {"https://api.openai.com/v1", "max_tokens", "max_tokens"}};
  for (const auto& one : all) {
    auto options = make_options();
    options.base_url = one.base_url;
    options.max_tokens_field = one.field;
    options.parameters["max_tokens"] = 12;
    const auto body = body_of(options, make_request());
    BOOST_TEST(body.at(one.wanted).as_int64() == 12, one.base_url);
  }
}

BOOST_AUTO_TEST_CASE(empty_content_beside_calls_is_null_for_openai) {
  auto request = make_request();
  request.messages.push_back(ai_message("", {{"c", "f", {}}}));
  auto empty = ai_message("", {{"d", "f", {}}});
  empty.blocks.emplace();
  request.messages.push_back(std::move(empty));
  auto options = make_options();
  for (const auto i : {1U, 2U})
    BOOST_TEST(body_of(options, request).at("messages").at(i).at("content").is_null());
  options.base_url = "http://localhost:8000/v1";
  for (const auto i : {1U, 2U})
    BOOST_TEST(body_of(options, request).at("messages").at(i).at("content").as_string() == "");
}

BOOST_AUTO_TEST_CASE(reasoning_is_sent_back_only_if_configured) {
  auto request = make_request();
  auto answer = ai_message("a");
  answer.additional_kwargs["reasoning_content"] = "because";
  request.messages.push_back(std::move(answer));
  auto options = make_options();
  BOOST_TEST(!body_of(options, request).at("messages").at(1).as_object().contains("reasoning"));
  options.reasoning_field = "reasoning";
  BOOST_TEST(body_of(options, request).at("messages").at(1).at("reasoning").as_string() ==
             "because");
}

BOOST_AUTO_TEST_CASE(ollama_tool_result_is_sent_with_tool_name) {
  auto request = make_request();
  request.messages.push_back(ai_message("", {{"c1", "f", {}}, {"c2", "g", {}}}));
  request.messages.push_back(tool_message("2", "c2", ""));
  request.messages.push_back(tool_message("1", "c1", "other"));
  const auto body = body_of(make_options(provider_api::ollama), request);
  const auto& messages = body.at("messages");
  BOOST_TEST(messages.at(1).at("tool_calls").at(1).at("id").as_string() == "c2");
  BOOST_TEST(messages.at(2).at("tool_name").as_string() == "g");
  BOOST_TEST(messages.at(2).at("tool_call_id").as_string() == "c2");
  BOOST_TEST(messages.at(3).at("tool_name").as_string() == "f");
}

BOOST_AUTO_TEST_CASE(ollama_request_omits_blocks_of_other_providers) {
  for (const auto* block : {R"({"type":"thinking","thinking":"t","signature":"s"})",
                            R"({"type":"redacted_thinking","data":"d"})",
                            R"({"type":"reasoning","id":"r","summary":[]})",
                            R"({"type":"function_call","name":"f"})"}) {
    auto request = make_request();
    auto answer = ai_message("");
    answer.blocks =
        json::array{parse_json(block).value(), json::object{{"type", "text"}, {"text", "a"}}};
    request.messages.push_back(std::move(answer));
    const auto body = body_of(make_options(provider_api::ollama), request);
    BOOST_TEST(body.at("messages").at(1).at("content").as_string() == "\na", block);
  }
}

BOOST_AUTO_TEST_CASE(openai_responses_input_items_have_required_members) {
  auto request = make_request();
  request.messages.push_back(ai_message("a"));
  auto known = ai_message("");
  known.blocks = json::array{json::object{{"type", "text"}, {"text", "b"}, {"id", "msg_1"}}};
  request.messages.push_back(std::move(known));
  const auto body = body_of(make_options(provider_api::openai_responses), request);
  BOOST_TEST(!body.at("tools").at(0).at("strict").as_bool());
  const auto& input = body.at("input");
  BOOST_TEST(input.at(1).at("content").as_string() == "a");
  BOOST_TEST(input.at(2).at("status").as_string() == "completed");
  BOOST_TEST(input.at(2).at("content").at(0).at("text").as_string() == "b");
}

BOOST_AUTO_TEST_CASE(anthropic_schemas_disallow_additional_properties) {
  auto request = make_request();
  auto format = answer_schema{};
  format.schema =
      parse_json(R"({"type":"object","properties":{"type":{"type":"string"},)"
                 R"("default":{"type":"object","properties":{}},)"
                 R"("list":{"type":"array","items":{"type":"object","additionalProperties":true}},)"
                 R"("either":{"anyOf":[{"type":"object"},{"type":"null"}]}},)"
                 R"("$defs":{"enum":{"type":"object"}},"default":{"type":"object"}})")
          ->get_object();
  request.format = std::make_shared<const answer_schema>(format);
  const auto schema = body_of(make_options(provider_api::anthropic), request)
                          .at("output_config")
                          .at("format")
                          .at("schema");
  const auto& named = schema.at("properties");
  for (const auto* closed : {&schema, &named.at("default"), &named.at("list").at("items"),
                             &named.at("either").at("anyOf").at(0), &schema.at("$defs").at("enum")})
    BOOST_TEST(!closed->at("additionalProperties").as_bool());
  BOOST_TEST(!schema.at("default").as_object().contains("additionalProperties"));
}

BOOST_AUTO_TEST_CASE(bounds_in_anthropic_schemas_become_descriptions) {
  using expectation = std::pair<const char*, const char*>; // a schema, and the one that is sent
  for (const auto& [given, expected] : {
           expectation{R"({"type":"integer","minimum":1,"maximum":5})",
                       R"({"type":"integer","description":"{minimum: 1, maximum: 5}"})"},
           {R"({"maxLength":9,"type":"string","description":"A name.","format":"email"})",
            R"({"type":"string","description":"A name.\n\n{maxLength: 9}","format":"email"})"},
           {R"({"type":"string","format":"color","pattern":"^#"})",
            R"({"type":"string","pattern":"^#","description":"{format: \"color\"}"})"},
           {R"({"type":"array","minItems":1,"items":{"type":"number","exclusiveMinimum":0}})",
            R"({"type":"array","minItems":1,"items":{"type":"number",)"
            R"("description":"{exclusiveMinimum: 0}"}})"},
           {R"({"type":"array","minItems":2,"uniqueItems":true})",
            R"({"type":"array","description":"{minItems: 2, uniqueItems: true}"})"},
           {R"({"oneOf":[{"type":"string","minLength":2},{"type":"null"}]})",
            R"({"anyOf":[{"type":"string","description":"{minLength: 2}"},{"type":"null"}]})"},
       }) {
    auto request = make_request();
    auto format = answer_schema{};
    // A member may have the name of a keyword.
    format.schema = {{"type", "object"}, {"properties", {{"minimum", parse_json(given).value()}}}};
    request.format = std::make_shared<const answer_schema>(format);
    const auto body = body_of(make_options(provider_api::anthropic), request);
    const auto& sent = body.at("output_config").at("format").at("schema");
    BOOST_TEST(to_text(sent.at("properties").at("minimum")) == expected);
  }
}

BOOST_AUTO_TEST_CASE(request_members_are_written_in_fixed_order) {
  auto request = make_request();
  request.messages.push_back(ai_message("", {{"c", "f", {{"a", 1}}}}));
  request.messages.push_back(tool_message("done", "c", "f"));
  request.parameters["temperature"] = 0.5;
  request.parameters["parallel_tool_calls"] = true;
  BOOST_TEST(models::write_request(make_options(), request)->body ==
             R"({"model":"m","stream":false,"temperature":0.5,"messages":[)"
             R"({"role":"user","content":"hi \"you\""},)"
             R"({"role":"assistant","content":null,"tool_calls":[{"type":"function","id":"c",)"
             R"("function":{"name":"f","arguments":"{\"a\":1}"}}]},)"
             R"({"role":"tool","content":"done","tool_call_id":"c"}],"tools":[{"type":"function",)"
             R"("function":{"name":"f","description":"d","parameters":{"type":"object"}}}],)"
             R"("parallel_tool_calls":true})");
}

BOOST_AUTO_TEST_CASE(extra_body_does_not_replace_messages_or_tools) {
  auto request = make_request();
  request.parameters["extra_body"] = json::object{{"messages", 3}, {"tools", nullptr}};
  const auto with_tools = body_of(make_options(), request);
  BOOST_TEST(with_tools.at("messages").as_array().size() == 1U);
  BOOST_TEST(with_tools.at("tools").as_array().size() == 1U);
  request.tools = nullptr;
  BOOST_TEST(body_of(make_options(), request).at("tools").is_null());
}

BOOST_AUTO_TEST_CASE(invalid_utf8_in_request_is_rejected) {
  auto q = provider_question{};
  q.messages.push_back(human_message("\xff"));
  BOOST_TEST(openai_chat::make_request(q).error().code == model_errc::bad_request);
}

BOOST_AUTO_TEST_CASE(audio_is_rejected_for_providers_without_support) {
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

BOOST_AUTO_TEST_CASE(on_chunk_enables_streaming) {
  auto request = make_request();
  BOOST_TEST(!body_of(make_options(), request).at("stream").as_bool());
  BOOST_TEST(
      !body_of(make_options(provider_api::anthropic), request).as_object().contains("stream"));
  request.on_chunk = [](const message_chunk&) {};
  for (const auto api : apis)
    BOOST_TEST(body_of(make_options(api), request).at("stream").as_bool());
}

BOOST_AUTO_TEST_CASE(invalid_model_options_are_rejected_at_creation) {
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

// SPDX-License-Identifier: Apache-2.0
// Wrappers: ask(), bound tools, structured answers, retries, fallbacks, choice of the provider.
#include "models/scripted_answers.hpp"

#include <superstep/base/await.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/model_retry.hpp>
#include <superstep/models/provider_model.hpp>
#include <superstep/models/structured_model.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>

using namespace superstep;
using test::scripted_answers;

namespace {

std::shared_ptr<const scripted_answers> model_that_says(std::vector<result<message>> answers) {
  return std::make_shared<const scripted_answers>(std::move(answers));
}

error broken(model_errc kind = model_errc::server_error) {
  return {kind, "broken"};
}

tool_definitions tools_named(const std::string& name) {
  auto tool = tool_definition{};
  tool.name = name;
  return std::make_shared<const std::vector<tool_definition>>(1, tool);
}

answer_schema point_schema() {
  auto out = answer_schema{};
  out.name = "point";
  out.schema = parse_json(R"({"type":"object","properties":{"x":{"type":"integer"}},)"
                          R"("required":["x"],"additionalProperties":false})")
                   ->as_object();
  return out;
}

model_retry_options at_once(std::uint32_t attempts) {
  auto out = model_retry_options{};
  out.attempts_max = attempts;
  out.backoff_base = {};
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(ask_converts_every_input_form_to_messages) {
  const auto model = model_that_says({ai_message("hello")});
  auto inputs =
      std::vector<model_input>{"hi", human_message("hi"), message_list{human_message("hi")},
                               parse_json(R"([{"role": "user", "content": "hi"}])").value(),
                               parse_json(R"([["user", "hi"]])").value()};
  for (const auto& input : inputs)
    BOOST_TEST(sync_wait(ask(model, input))->content == "hello");
  for (const auto& request : model->asked())
    BOOST_TEST((request.messages == message_list{human_message("hi")}));
  BOOST_TEST(sync_wait(ask(model, parse_json(R"([{"role": "nobody"}])").value())).has_error());
}

BOOST_AUTO_TEST_CASE(request_tools_override_bound_tools) {
  const auto model = model_that_says({ai_message("x")});
  auto binding = tool_binding{};
  binding.choice = "f";
  binding.parallel = false;
  const auto bound = bind_tools(model, tools_named("f"), binding);
  BOOST_REQUIRE(bound.has_value());
  BOOST_TEST(sync_wait(ask(*bound, "hi")).has_value());
  auto own = model_request{};
  own.tools = tools_named("g");
  own.parameters["tool_choice"] = "auto";
  BOOST_TEST(sync_wait((*bound)->complete(own)).has_value());
  const auto asked = model->asked();
  BOOST_TEST(asked[0].tools->at(0).name == "f");
  BOOST_TEST(asked[0].parameters.at("tool_choice").as_string() == "f");
  BOOST_TEST(!asked[0].parameters.at("parallel_tool_calls").as_bool());
  BOOST_TEST(asked[1].tools->at(0).name == "g");
  BOOST_TEST(asked[1].parameters.at("tool_choice").as_string() == "auto");
  binding.choice = "nobody";
  BOOST_TEST(bind_tools(model, tools_named("f"), binding).has_error());
}

// A request for a summary must not become a tool call.
BOOST_AUTO_TEST_CASE(empty_tool_list_in_request_removes_bound_tools) {
  const auto model = model_that_says({ai_message("x")});
  for (const auto* choice : {"f", "any", "auto"}) {
    auto binding = tool_binding{};
    binding.choice = choice;
    binding.parallel = false;
    binding.strict = true;
    const auto once = bind_tools(model, tools_named("f"), binding);
    BOOST_REQUIRE(once.has_value());
    binding.choice = "any";
    const auto twice = bind_tools(*once, tools_named("g"), binding);
    BOOST_REQUIRE(twice.has_value());
    for (const auto& bound : {*once, *twice, bind_parameters(*once, {{"temperature", 0}})}) {
      auto request = model_request{};
      request.tools = std::make_shared<const std::vector<tool_definition>>();
      BOOST_TEST(sync_wait(bound->complete(request)).has_value());
      const auto asked = model->asked().back();
      BOOST_TEST((asked.tools && asked.tools->empty()));
      for (const auto* name : {"tool_choice", "parallel_tool_calls", "strict"})
        BOOST_TEST(!asked.parameters.contains(name));
    }
  }
}

BOOST_AUTO_TEST_CASE(structured_method_selects_source_of_parsed_answer) {
  auto call = tool_call{"c", "point", {}};
  call.args["x"] = 2;
  const auto texts = model_that_says(
      {ai_message(R"({"x": 1})"), ai_message(R"({"x": "one"})"), ai_message("Sure!"), broken()});
  const auto by_text = with_structured_output(texts, point_schema());
  BOOST_REQUIRE(by_text.has_value());
  BOOST_TEST(sync_wait(by_text->ask("?"))->parsed.at("x").as_int64() == 1);
  BOOST_TEST(sync_wait(by_text->ask("?"))->fault.find("schema") != std::string::npos);
  BOOST_TEST(sync_wait(by_text->ask("?"))->fault.find("Sure!") != std::string::npos);
  BOOST_TEST(sync_wait(by_text->ask("?")).has_error());
  BOOST_TEST(texts->asked()[0].format->name == "point");

  const auto calls = model_that_says({ai_message("", {call}), ai_message("no")});
  const auto by_call = with_structured_output(calls, point_schema(), structured_method::tool_call);
  BOOST_TEST(sync_wait(by_call->ask("?"))->parsed.at("x").as_int64() == 2);
  BOOST_TEST(sync_wait(by_call->ask("?"))->fault == "the model did not call point");
  BOOST_TEST(calls->asked()[0].tools->at(0).name == "point");
  BOOST_TEST(calls->asked()[0].parameters.at("tool_choice").as_string() == "point");

  auto refusal = ai_message("");
  refusal.additional_kwargs["refusal"] = "I cannot.";
  for (const auto method : {structured_method::json_schema, structured_method::tool_call}) {
    const auto refusing =
        with_structured_output(model_that_says({refusal}), point_schema(), method);
    BOOST_TEST(sync_wait(refusing->ask("?"))->fault == "the model refused to answer: I cannot.");
  }

  auto no_object = point_schema();
  no_object.schema["type"] = "array";
  BOOST_TEST(with_structured_output(calls, no_object).has_error());
}

BOOST_AUTO_TEST_CASE(with_retry_repeats_calls_only_after_retryable_errors) {
  const auto recovers = model_that_says({broken(), broken(), ai_message("at last")});
  BOOST_TEST(sync_wait(ask(with_retry(recovers, at_once(3)), "?"))->content == "at last");
  const auto late = model_that_says({broken(), broken(), ai_message("at last")});
  BOOST_TEST(sync_wait(ask(with_retry(late, at_once(2)), "?")).has_error());
  const auto refuses = model_that_says({broken(model_errc::unauthorized)});
  BOOST_TEST(sync_wait(ask(with_retry(refuses, at_once(3)), "?")).has_error());
  BOOST_TEST(refuses->asked().size() == 1U);
}

BOOST_AUTO_TEST_CASE(with_fallbacks_asks_next_model_after_an_error) {
  const auto first = model_that_says({broken(model_errc::unauthorized)});
  const auto second = model_that_says({ai_message("I know")});
  const auto both = with_fallbacks(first, {second});
  BOOST_TEST(sync_wait(ask(both, "?"))->content == "I know");
  BOOST_TEST(second->asked().size() == 1U);
  const auto worst = with_fallbacks(first, {model_that_says({broken(model_errc::timed_out)})});
  const auto last = sync_wait(ask(worst, "?"));
  BOOST_TEST((last.error().code == make_error_code(model_errc::timed_out)));
}

namespace {

/// Streams a piece and fails.
class breaks_off final : public chat_model {
public:
  task<result<message>> complete(model_request request) const override {
    if (request.on_chunk)
      request.on_chunk(models::whole_chunk(ai_message("half")));
    co_return broken();
  }
  std::string fingerprint() const override { return "breaks off"; }
};

} // namespace

BOOST_AUTO_TEST_CASE(stream_broken_after_a_chunk_is_not_retried) {
  const auto second = model_that_says({ai_message("I know")});
  const auto model =
      with_fallbacks(with_retry(std::make_shared<const breaks_off>(), at_once(9)), {second});
  auto heard = 0;
  BOOST_TEST(sync_wait(ask(model, "?", [&](const message_chunk&) { ++heard; })).has_error());
  BOOST_TEST(heard == 1);
  BOOST_TEST(sync_wait(ask(model, "?")).has_value()); // without on_chunk
}

BOOST_AUTO_TEST_CASE(model_name_selects_the_provider) {
  auto io = io_runtime{};
  auto options = provider_model_options{};
  options.api_key_env = "";
  const auto print_of = [&](std::string_view name) {
    const auto made = init_chat_model(name, io, options);
    return made ? (*made)->fingerprint() : "";
  };
  BOOST_TEST(print_of("openai:gpt-x").starts_with("openai https://api.openai.com/v1/chat/"));
  BOOST_TEST(print_of("openai-responses:gpt-x").find("/v1/responses gpt-x") != std::string::npos);
  BOOST_TEST(print_of("anthropic:claude-x").starts_with("anthropic https://api.anthropic.com/v1/"));
  BOOST_TEST(print_of("ollama:llama3:8b").find("/api/chat llama3:8b") != std::string::npos);
  BOOST_TEST(print_of("claude-x").starts_with("anthropic "));
  BOOST_TEST(print_of("o3-mini").starts_with("openai "));
  for (const auto* name : {"", "llama3", "llama3:8b", "openai:", ":x"})
    BOOST_TEST(init_chat_model(name, io, options).has_error(), name);
}

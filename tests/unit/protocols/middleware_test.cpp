// SPDX-License-Identifier: Apache-2.0
// The protocol middleware: calls as text in requests and answers, retries, tool choice, prompts and
// repairs.
#include <superstep/base/await.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/protocols/protocol_middleware.hpp>
#include <superstep/protocols/tool_protocol.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <set>
#include <utility>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(middleware)

namespace {

/// Returns the given texts in order and records the requests.
class text_model final : public chat_model {
public:
  explicit text_model(std::vector<std::string> texts) : texts_{std::move(texts)} {}
  task<result<message>> complete(model_request request) const override {
    asked.push_back(std::move(request));
    if (asked.size() > texts_.size())
      co_return error{model_errc::missing_turn, "there is no more"};
    auto answer = ai_message(texts_[asked.size() - 1]);
    answer.usage = token_usage{};
    answer.usage->total_tokens = 10;
    co_return answer;
  }
  std::string fingerprint() const override { return "text"; }

  mutable std::vector<model_request> asked;

private:
  std::vector<std::string> texts_;
};

/// Streams its text byte by byte.
class slow_model final : public streaming_chat_model {
public:
  explicit slow_model(std::string text) : text_{std::move(text)} {}
  task<result<message>> complete(model_request) const override {
    auto answer = ai_message(text_);
    co_return answer;
  }
  task<result<message>> stream(model_request, protocol_event_handler on_event) const override {
    for (const auto c : text_)
      on_event(stream_text{std::string(1, c)});
    auto answer = ai_message(text_);
    co_return answer;
  }
  std::string fingerprint() const override { return "slow"; }

private:
  std::string text_;
};

model_request weather_request() {
  auto weather = tool_definition{"get_weather", "Weather for a place", {}};
  weather.parameters =
      json::parse(
          R"({"type":"object","properties":{"location":{"type":"string"},"days":{"type":"integer"}},
              "required":["location"]})")
          .as_object();
  auto request = model_request{};
  request.tools = std::make_shared<const std::vector<tool_definition>>(
      std::vector<tool_definition>{std::move(weather)});
  request.messages.push_back(human_message("Weather in Seoul?"));
  request.run_key = "row-1";
  return request;
}

streaming_chat_model_ptr in_protocol(chat_model_ptr model, std::string_view name,
                                     protocol_error_handler on_error = {}) {
  auto options = protocol_options{};
  options.protocol = make_protocol(name).value();
  options.on_error = std::move(on_error);
  return wrap_model(std::move(model), {make_protocol_middleware(std::move(options))});
}

const auto protocol_names =
    std::vector<std::string>{"hermes", "morph_xml", "yaml_xml", "qwen3_coder"};

std::string call_text(std::string_view protocol, std::string_view arguments) {
  return make_protocol(protocol).value()->format_call("get_weather", arguments);
}

} // namespace

BOOST_DATA_TEST_CASE(parses_tool_calls_from_model_text, protocol_names) {
  const auto said = "Let me see.\n" + call_text(sample, R"({"location":"Seoul","days":3})");
  const auto model = std::make_shared<const text_model>(std::vector{said});
  const auto answer = sync_wait(in_protocol(model, sample)->complete(weather_request())).value();
  BOOST_TEST(answer.content == "Let me see.\n");
  BOOST_TEST_REQUIRE(answer.tool_calls.size() == 1U);
  BOOST_TEST(answer.tool_calls[0].name == "get_weather");
  BOOST_TEST(answer.tool_calls[0].args == (json::object{{"location", "Seoul"}, {"days", 3}}));
  BOOST_TEST(answer.tool_calls[0].id.starts_with("call_"));
  BOOST_TEST(answer.response_metadata.at("finish_reason") == "tool_calls");
  BOOST_TEST(!model->asked[0].tools);
  BOOST_TEST(model->asked[0].system->content.find("get_weather") != std::string::npos);
}

/// Answers with a block of thinking before the text.
class thinking_model final : public chat_model {
public:
  explicit thinking_model(std::string text) : text_{std::move(text)} {}
  task<result<message>> complete(model_request request) const override {
    asked.push_back(std::move(request));
    auto answer = ai_message({});
    answer.blocks = json::array{thinking(), json::object{{"type", "text"}, {"text", text_}}};
    co_return answer;
  }
  std::string fingerprint() const override { return "thinking"; }
  static json::object thinking() { return {{"type", "thinking"}, {"thinking", "why"}}; }

  mutable std::vector<model_request> asked;

private:
  std::string text_;
};

BOOST_DATA_TEST_CASE(keeps_blocks_other_than_text, protocol_names) {
  const auto plain = std::make_shared<const thinking_model>("Sunny.");
  const auto text = sync_wait(in_protocol(plain, sample)->complete(weather_request())).value();
  BOOST_TEST(text_of(text) == "Sunny.");
  BOOST_TEST_REQUIRE(text.blocks.has_value());
  BOOST_TEST(text.blocks->size() == 2U);

  const auto call = "Let me see." + call_text(sample, R"({"location":"Seoul"})");
  const auto model = std::make_shared<const thinking_model>(call);
  auto request = weather_request();
  const auto answer = sync_wait(in_protocol(model, sample)->complete(request)).value();
  BOOST_TEST(answer.tool_calls.size() == 1U);
  BOOST_TEST(text_of(answer) == "Let me see.");
  BOOST_TEST_REQUIRE(answer.blocks.has_value());
  BOOST_TEST(answer.blocks->at(0) == json::value(thinking_model::thinking()));

  request.messages.push_back(answer);
  BOOST_TEST(sync_wait(in_protocol(model, sample)->complete(request)).has_value());
  const auto& said = model->asked.back().messages[1];
  BOOST_TEST_REQUIRE(said.blocks.has_value());
  BOOST_TEST(said.blocks->at(0) == json::value(thinking_model::thinking()));
  BOOST_TEST(text_of(said).find("Seoul") != std::string::npos);
}

BOOST_DATA_TEST_CASE(writes_calls_and_results_of_history_as_text, protocol_names) {
  auto request = weather_request();
  request.system = std::make_shared<const message>(system_message("Be brief."));
  request.messages.push_back(
      ai_message("", {{"c1", "get_weather", json::object{{"location", "Seoul"}}}}));
  request.messages.push_back(tool_message("sunny", "c1", ""));
  request.messages.push_back(human_message("And tomorrow?"));
  const auto model = std::make_shared<const text_model>(std::vector<std::string>{"Rain."});
  const auto answer = sync_wait(in_protocol(model, sample)->complete(request)).value();
  BOOST_TEST(answer.content == "Rain.");
  BOOST_TEST(answer.tool_calls.empty());
  const auto& asked = model->asked[0];
  BOOST_TEST(asked.system->content.starts_with("Be brief.\n\n"));
  BOOST_TEST_REQUIRE(asked.messages.size() == 3U);
  BOOST_TEST(asked.messages[1].content == call_text(sample, R"({"location":"Seoul"})"));
  BOOST_TEST(asked.messages[1].tool_calls.empty());
  const auto result = make_protocol(sample).value()->format_result("get_weather", "sunny");
  BOOST_TEST((asked.messages[2].type == message_type::human));
  BOOST_TEST(asked.messages[2].content == result + "\nAnd tomorrow?");
}

BOOST_DATA_TEST_CASE(stream_events_add_up_to_the_answer, protocol_names) {
  const auto said = "Let me see.\n" + call_text(sample, R"({"location":"Seoul"})");
  const auto model = in_protocol(std::make_shared<const slow_model>(said), sample);
  auto text = std::string{};
  auto deltas = std::string{};
  auto arguments = std::string{};
  const auto on_event = [&](const protocol_event& e) {
    if (const auto* t = std::get_if<stream_text>(&e))
      text += t->text;
    else if (const auto* d = std::get_if<tool_input_delta>(&e))
      deltas += d->text;
    else if (const auto* c = std::get_if<stream_call>(&e))
      arguments = c->parsed.arguments;
  };
  const auto answer = sync_wait(model->stream(weather_request(), on_event)).value();
  BOOST_TEST(text == "Let me see.\n");
  BOOST_TEST(deltas == R"({"location":"Seoul"})");
  BOOST_TEST(arguments == deltas);
  BOOST_TEST(answer.content == text);
  BOOST_TEST_REQUIRE(answer.tool_calls.size() == 1U);
  BOOST_TEST(to_text(answer.tool_calls[0].args) == arguments);
}

BOOST_AUTO_TEST_CASE(asks_model_once_more_after_unreadable_call) {
  const auto broken = std::string{"<tool_call>{\"name\": \"get_weather\", oops}</tool_call>"};
  const auto good = call_text("hermes", R"({"location":"Seoul"})");
  auto errors = std::vector<protocol_error>{};
  const auto collect = [&](const protocol_error& e) { errors.push_back(e); };
  const auto model = std::make_shared<const text_model>(std::vector{broken, good});
  const auto answer =
      sync_wait(in_protocol(model, "hermes", collect)->complete(weather_request())).value();
  BOOST_TEST(answer.tool_calls.size() == 1U);
  BOOST_TEST(answer.usage->total_tokens == 20, "both answers were paid for");
  BOOST_TEST_REQUIRE(model->asked.size() == 2U);
  BOOST_TEST(model->asked[1].messages.size() == 3U);
  BOOST_TEST(model->asked[1].messages[1].content == broken);
  BOOST_TEST_REQUIRE(errors.size() == 1U);
  BOOST_TEST(errors[0].segment == broken);

  const auto stubborn = std::make_shared<const text_model>(std::vector{broken, broken, broken});
  const auto text = sync_wait(in_protocol(stubborn, "hermes")->complete(weather_request())).value();
  BOOST_TEST(stubborn->asked.size() == 2U, "the number of tries is bounded");
  BOOST_TEST(text.content == broken, "what cannot be read is text");
}

BOOST_AUTO_TEST_CASE(call_ids_are_unique_and_stable_in_replays) {
  const auto said = call_text("morph_xml", R"({"location":"A"})");
  auto ids = std::set<std::string>{};
  for (const auto* key : {"row-1", "row-2"})
    for (auto turn = 0U; turn < 3; ++turn) {
      auto request = weather_request();
      request.run_key = key;
      request.turn = turn;
      const auto ask = [&] {
        const auto model = std::make_shared<const text_model>(std::vector{said + said});
        return sync_wait(in_protocol(model, "morph_xml")->complete(request)).value();
      };
      const auto answer = ask();
      BOOST_TEST(answer.tool_calls.size() == 2U);
      for (const auto& call : answer.tool_calls)
        ids.insert(call.id);
      BOOST_TEST(ask().tool_calls[0].id == answer.tool_calls[0].id);
    }
  BOOST_TEST(ids.size() == 12U);
}

BOOST_AUTO_TEST_CASE(tool_choice_other_than_none_sets_json_format) {
  auto request = weather_request();
  request.parameters["tool_choice"] = "required";
  const auto model = std::make_shared<const text_model>(std::vector<std::string>{
      R"({"name":"get_weather","arguments":{"location":"Seoul","days":"2"}})", "no", "x"});
  const auto wrapped = in_protocol(model, "hermes");
  const auto answer = sync_wait(wrapped->complete(request)).value();
  BOOST_TEST_REQUIRE(answer.tool_calls.size() == 1U);
  BOOST_TEST(answer.tool_calls[0].args.at("days") == 2);
  BOOST_TEST(model->asked[0].parameters.contains("response_format"));
  BOOST_TEST(!model->asked[0].parameters.contains("tool_choice"));

  request.parameters["tool_choice"] = "none";
  BOOST_TEST(sync_wait(wrapped->complete(request)).value().content == "no");
  BOOST_TEST(!model->asked[1].system);

  request.parameters["tool_choice"] = "maybe";
  const auto refused = sync_wait(wrapped->complete(request));
  BOOST_TEST(!refused);
  BOOST_TEST(refused.error().text.find("\"maybe\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(tool_choice_accepts_documented_words_and_objects) {
  struct choice_case {
    json::value given;
    bool is_by_name; // otherwise any tool
  };
  const auto cases = std::vector<choice_case>{
      {"any", false},
      {"required", false},
      {true, false},
      {json::object{{"type", "any"}}, false},
      {"get_weather", true},
      {parse_json(R"({"type":"function","function":{"name":"get_weather"}})").value(), true},
      {parse_json(R"({"type":"function","name":"get_weather"})").value(), true},
      {parse_json(R"({"type":"tool","name":"get_weather"})").value(), true}};
  for (const auto& c : cases) {
    auto request = weather_request();
    request.parameters["tool_choice"] = c.given;
    // The answer to a choice by name has the same form, because the name is a constant.
    const auto model = std::make_shared<const text_model>(
        std::vector<std::string>{R"({"name":"get_weather","arguments":{"location":"Seoul"}})"});
    const auto answer = sync_wait(in_protocol(model, "hermes")->complete(request));
    BOOST_TEST_REQUIRE(answer.has_value(), to_text(c.given));
    BOOST_TEST(answer->tool_calls.size() == 1U);
    const auto format = to_text(model->asked[0].parameters.at("response_format"));
    BOOST_TEST((format.find("\"enum\"") == std::string::npos) == c.is_by_name, to_text(c.given));
  }
}

BOOST_AUTO_TEST_CASE(error_names_the_rejected_tool_choice) {
  const auto cases = std::vector<std::pair<json::value, std::string>>{
      {"get_wether", "\"get_wether\""},
      {7, "is 7"},
      {json::object{{"type", "function"}}, "names no tool"},
      {parse_json(R"({"type":"tool","name":"get_wether"})").value(), "\"get_wether\""}};
  for (const auto& [given, named] : cases) {
    auto request = weather_request();
    request.parameters["tool_choice"] = given;
    const auto model = std::make_shared<const text_model>(std::vector<std::string>{"x"});
    const auto refused = sync_wait(in_protocol(model, "hermes")->complete(request));
    BOOST_TEST_REQUIRE(!refused.has_value(), to_text(given));
    BOOST_TEST(refused.error().text.find(named) != std::string::npos, refused.error().text);
    BOOST_TEST(model->asked.empty());
  }
}

BOOST_AUTO_TEST_CASE(custom_prompt_replaces_prompt_of_protocol) {
  const auto model = std::make_shared<const text_model>(std::vector<std::string>{"ok"});
  auto options = protocol_options{};
  options.protocol = make_protocol("yamlXml").value();
  options.prompt = [](const tool_protocol& p, const std::vector<protocol_tool>& tools) {
    return "MINE " + p.tool_list(tools);
  };
  const auto answer = sync_wait(complete_with_protocol(model, options, weather_request()));
  BOOST_TEST(answer.value().content == "ok");
  BOOST_TEST(model->asked[0].system->content.starts_with("MINE [{"));
}

BOOST_AUTO_TEST_CASE(middleware_logs_calls_caches_answers_and_sets_defaults) {
  auto records = std::vector<model_call_record>{};
  const auto model =
      std::make_shared<const text_model>(std::vector<std::string>{"one", "two", "three"});
  const auto wrapped =
      wrap_model(model, {make_logging_middleware([&](const auto& r) { records.push_back(r); }),
                         make_caching_middleware(1),
                         make_defaults_middleware({{"temperature", 0}, {"top_p", 1}})});
  auto request = weather_request();
  request.parameters["top_p"] = 0.5;
  BOOST_TEST(sync_wait(wrapped->complete(request)).value().content == "one");
  BOOST_TEST(sync_wait(wrapped->complete(request)).value().content == "one");
  BOOST_TEST(model->asked.size() == 1U);
  BOOST_TEST(model->asked[0].parameters == (json::object{{"top_p", 0.5}, {"temperature", 0}}));
  auto other = request;
  other.messages.push_back(human_message("?"));
  BOOST_TEST(sync_wait(wrapped->complete(other)).value().content == "two");
  BOOST_TEST(sync_wait(wrapped->complete(request)).value().content == "three",
             "only one answer is kept");
  BOOST_TEST(!sync_wait(wrapped->complete(other)));
  BOOST_TEST(records.size() == 5U);
  BOOST_TEST(records[0].usage->total_tokens == 10);
  BOOST_TEST(records[4].error == "there is no more");
  BOOST_TEST(wrapped->fingerprint().find("temperature") != std::string::npos);
  BOOST_TEST(wrapped->fingerprint().ends_with("text"));
}

BOOST_AUTO_TEST_CASE(cache_distinguishes_requests_by_format_and_tools) {
  const auto format_named = [](const char* name, answer_mode mode, bool is_strict) {
    auto format = answer_schema{};
    format.name = name;
    format.schema = json::object{{"type", "object"}};
    format.mode = mode;
    format.is_strict = is_strict;
    return std::make_shared<const answer_schema>(std::move(format));
  };
  auto requests = std::vector<model_request>(7, weather_request());
  requests[1].format = format_named("a", answer_mode::json_schema, true);
  requests[2].format = format_named("b", answer_mode::json_schema, true);
  requests[3].format = format_named("a", answer_mode::json_object, true);
  requests[4].format = format_named("a", answer_mode::json_schema, false);
  requests[5].tools = std::make_shared<const std::vector<tool_definition>>(); // no tools
  requests[6].tools = nullptr; // those that are bound to the model
  const auto model = std::make_shared<const text_model>(
      std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6"});
  const auto cached = wrap_model(model, {make_caching_middleware(10)});
  for (auto round = 0; round < 2; ++round)
    for (auto i = std::size_t{0}; i < requests.size(); ++i)
      BOOST_TEST(sync_wait(cached->complete(requests[i])).value().content == std::to_string(i));
  BOOST_TEST(model->asked.size() == requests.size());
}

namespace {

/// Answers with a call whose argument has the wrong type, and two calls that are not JSON.
class careless_model final : public streaming_chat_model {
public:
  task<result<message>> complete(model_request) const override {
    auto said = answer();
    co_return said;
  }
  task<result<message>> stream(model_request, protocol_event_handler on_event) const override {
    on_event(stream_text{"Let me see."});
    on_event(tool_input_start{0, "get_weather"});
    on_event(tool_input_delta{0, R"({"days":)"});
    on_event(tool_input_delta{0, R"("3"})"});
    on_event(tool_input_end{0});
    on_event(stream_call{0, {"get_weather", R"({"days":"3"})"}});
    on_event(tool_input_start{1, "get_weather"});
    on_event(tool_input_delta{1, "{location: 'Seoul',}"});
    on_event(tool_input_end{1});
    auto said = answer();
    co_return said;
  }
  std::string fingerprint() const override { return "careless"; }

private:
  static message answer() {
    auto out = ai_message("Let me see.", {{"a", "get_weather", json::object{{"days", "3"}}}});
    out.invalid_tool_calls = {{"b", "get_weather", "{location: 'Seoul',}", "no JSON"},
                              {"c", "get_weather", "{{", "no JSON"}};
    return out;
  }
};

void check_repaired(const message& answer) {
  BOOST_TEST_REQUIRE(answer.tool_calls.size() == 2U);
  BOOST_TEST(answer.tool_calls[0].args == (json::object{{"days", 3}}));
  BOOST_TEST(answer.tool_calls[1].args == (json::object{{"location", "Seoul"}}));
  BOOST_TEST(answer.invalid_tool_calls.size() == 1U);
}

} // namespace

BOOST_AUTO_TEST_CASE(repairs_invalid_arguments_of_native_calls) {
  const auto wrapped =
      wrap_model(std::make_shared<const careless_model>(), {make_repair_middleware()});
  check_repaired(sync_wait(wrapped->complete(weather_request())).value());
}

BOOST_AUTO_TEST_CASE(repairs_native_calls_of_streamed_answers) {
  const auto wrapped =
      wrap_model(std::make_shared<const careless_model>(), {make_repair_middleware()});
  auto text = std::string{};
  auto deltas = std::vector<std::string>(2);
  auto calls = std::vector<std::string>{};
  const auto answer = sync_wait(wrapped->stream(weather_request(), [&](const protocol_event& e) {
    if (const auto* said = std::get_if<stream_text>(&e))
      text += said->text;
    else if (const auto* delta = std::get_if<tool_input_delta>(&e))
      deltas.at(delta->call) += delta->text;
    else if (const auto* call = std::get_if<stream_call>(&e))
      calls.push_back(call->parsed.arguments);
  }));
  check_repaired(answer.value());
  BOOST_TEST(text == "Let me see.");
  BOOST_TEST(calls == (std::vector<std::string>{R"({"days":3})", R"({"location":"Seoul"})"}),
             boost::test_tools::per_element());
  BOOST_TEST(deltas == calls, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// A user's first programs: an agent with custom tools and a model selected by name.
#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/json_agent.hpp>
#include <superstep/base/await.hpp>
#include <superstep/messages/message_json.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/runtime/graph_error.hpp>
#include <superstep/tools/command.hpp>
#include <superstep/tools/make_tool.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <string>

namespace ss = superstep;
using namespace superstep;

namespace first_agent_test {

struct weather_args {
  std::string city;
};
BOOST_DESCRIBE_STRUCT(weather_args, (), (city))

std::string weather(const weather_args& args) {
  return "It is sunny in " + args.city + ".";
}
ss::task<std::string> weather_later(const weather_args& args) {
  auto rest = sleep_for{std::chrono::milliseconds{1}};
  co_await rest;
  co_return weather(args);
}
std::string weather_anywhere(const weather_args& args, const tool_context& context) noexcept {
  return weather(args) + (context.tool_call_id.empty() ? "" : " I was asked.");
}

/// Returns a model that calls the tool `weather` and repeats its result, or the one SUPERSTEP_MODEL
/// names.
std::string model() {
  const auto* named = std::getenv("SUPERSTEP_MODEL");
  return named != nullptr ? named : R"(scripted:
rules:
  - {type: tool, text: '\0'}
  - {type: human, calls: [{name: weather, args: {city: Rome}}]}
)";
}

template <class State = messages_state>
std::string answer_of(agent_options<State> options) {
  auto lanes = ss::engine{ss::engine_options{.workers = 1}};
  auto input = State{};
  input.messages.push_back(human_message("What is the weather in Rome?"));
  return text_of(
      lanes.invoke(ss::create_agent(std::move(options)), std::move(input)).state.messages.back());
}

std::string refusal(agent_options<messages_state> options) {
  try {
    (void)create_agent(std::move(options));
  } catch (const compile_error& e) {
    return e.what();
  }
  return "it was built";
}

BOOST_AUTO_TEST_SUITE(first_agent)

BOOST_AUTO_TEST_CASE(agent_answers_question_with_tool_result) {
  auto engine = ss::engine{};
  auto agent = ss::create_agent({
      .model = model(),
      .tools = {ss::make_tool("weather", "Current weather in a city.", weather)},
      .prompt = "Answer in one sentence.",
  });
  auto result = engine.invoke(agent, "What is the weather in Rome?");
  BOOST_TEST(ss::text_of(result.state.messages.back()).find("sunny") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(make_tool_accepts_functions_coroutines_and_commands) {
  const auto about = "Current weather in a city.";
  const auto says = [](tool_ptr tool) {
    return answer_of({.model = model(), .tools = {std::move(tool)}});
  };
  BOOST_TEST(says(make_tool("weather", about, weather)) == "It is sunny in Rome.");
  BOOST_TEST(says(make_tool("weather", about, weather_later)) == "It is sunny in Rome.");
  BOOST_TEST(says(make_tool("weather", about, weather_anywhere)) ==
             "It is sunny in Rome. I was asked.");
  BOOST_TEST(says(make_tool("weather", about, [](const weather_args& a) { return a.city; })) ==
             "Rome");
  BOOST_TEST(says(make_tool<weather_args>("weather", about,
                                          [](const auto& a) { return a.city; })) == "Rome");
  BOOST_TEST(says(make_tool("weather", about, {.argv = {"/bin/echo", "rain"}})) == "rain");
  BOOST_CHECK_THROW((void)make_tool("weather", about, command_options{}), std::system_error);
}

BOOST_AUTO_TEST_CASE(create_agent_rejects_invalid_model_specs) {
  BOOST_TEST(make_model("scripted:\ndefault: {text: hi}\n").has_value());
  BOOST_TEST(make_model("scripted:{default: {text: hi}}").has_value());
  BOOST_TEST(!make_model("scripted:/no/such/file.yaml").has_value());
  BOOST_TEST(!make_model("").has_value());
  BOOST_TEST(make_model("ollama:llama3").has_value()); // does not contact the server
  for (const auto* spec : {"nobody:x", "scripted:{rules: 7}", "scripted:/no/such/file.yaml"})
    BOOST_TEST(refusal({.model = spec}).find("model \"") != std::string::npos,
               refusal({.model = spec}));
  BOOST_TEST(refusal({}).find("needs a model") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(run_counts_model_and_tool_calls_in_state) {
  auto options = agent_options<chat_state>{};
  options.model = model();
  options.tools = {make_tool("weather", "Current weather.", weather)};
  auto lanes = engine{engine_options{.workers = 1}};
  auto input = chat_state{};
  input.messages.push_back(human_message("What is the weather in Rome?"));
  const auto ended = lanes.invoke(create_agent(std::move(options)), std::move(input)).state;
  BOOST_TEST(ended.tool_calls >= 1U);
  BOOST_TEST(ended.model_calls == ended.tool_calls + 1);
}

BOOST_AUTO_TEST_CASE(json_agent_follows_jumps_of_its_middleware) {
  auto stops = middleware<json::value>{};
  stops.name = "stops";
  stops.before_model = {[](const json::value& state, runtime) {
                          return messages_of(state).size() > 1 ? jump::finish : jump::none;
                        },
                        {jump::finish}};
  auto closes = message_middleware{};
  closes.name = "closes";
  closes.after_agent.run = [](const message_list&, runtime) -> task<message_step> {
    auto out = message_step{};
    out.messages.push_back(human_message("bye"));
    co_return out;
  };
  auto options = agent_options<json::value>{};
  options.model = model();
  options.tools = {make_tool("weather", "Current weather.", weather)};
  options.middleware = {stops, closes};
  const auto agent = create_agent(std::move(options));
  auto lanes = engine{engine_options{.workers = 1}};
  auto input = json::object{};
  input["messages"] = json::array(1, to_json(human_message("What is it?")));
  const auto ended = lanes.invoke(agent, std::move(input));
  const auto said = messages_of(ended.state);
  BOOST_REQUIRE(said.size() == 4U); // question, call, tool result and final answer
  BOOST_TEST(text_of(said[3]) == "bye");
}

BOOST_AUTO_TEST_CASE(middleware_hooks_enclose_pre_and_post_model_hooks) {
  auto order = std::make_shared<std::string>();
  auto around = middleware<messages_state>{};
  around.name = "m";
  around.before_model = [order](const messages_state&, runtime) { *order += "before "; };
  around.after_model = [order](const messages_state&, runtime) { *order += "after "; };
  auto options = agent_options<messages_state>{};
  options.model = "scripted:\ndefault: {text: hi}\n";
  options.middleware = {around};
  options.pre_model_hook = [order](const messages_state&, runtime) { *order += "pre "; };
  options.post_model_hook = [order](const messages_state&, runtime) { *order += "post "; };
  BOOST_TEST(answer_of(std::move(options)) == "hi");
  BOOST_TEST(*order == "before pre post after ");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace first_agent_test

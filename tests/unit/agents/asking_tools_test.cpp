// SPDX-License-Identifier: Apache-2.0
// Tools that interrupt the run, tools that emit events, and printed steps.
#include "actors/debug_line.hpp"
#include "actors/engine_access.hpp"
#include "agents/fake_model.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/tools/make_tool.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <iostream>
#include <sstream>

using namespace superstep;
using superstep::testing::fake_model;

// A named namespace, because g++ 12 warns about coroutine frames over types without linkage.
namespace asking_agent {

struct talk {
  message_list messages;
  using reducers = superstep::reducers<by<&talk::messages, add_messages>>;
};
BOOST_DESCRIBE_STRUCT(talk, (), (messages))

/// Interrupts and returns the answer together with the ids of its call.
class asking_tool final : public tool {
public:
  asking_tool() {
    definition_.name = "ask";
    definition_.parameters["type"] = "object";
  }
  const tool_definition& definition() const noexcept override { return definition_; }
  std::vector<injection> injections() const override {
    return {{"run", injection::source::runtime, {}, {}}};
  }
  task<tool_output> run(const tool_call& call, const tool_context& context) const override {
    auto question = context.environment->run->interrupt(json::value(call.id));
    const auto answer = co_await question;
    auto out = tool_output{};
    out.content = std::string{answer.as_string()};
    co_return out;
  }

private:
  tool_definition definition_;
};

/// Emits its progress as events.
class telling_tool final : public tool {
public:
  telling_tool() {
    definition_.name = "tell";
    definition_.parameters["type"] = "object";
  }
  const tool_definition& definition() const noexcept override { return definition_; }
  std::vector<injection> injections() const override {
    return {{"run", injection::source::runtime, {}, {}}};
  }
  task<tool_output> run(const tool_call& call, const tool_context& context) const override {
    context.environment->run->emit(json::value("half of " + call.id));
    auto out = tool_output{};
    out.content = "told";
    co_return out;
  }

private:
  tool_definition definition_;
};

struct no_arguments {};
BOOST_DESCRIBE_STRUCT(no_arguments, (), ())

} // namespace asking_agent

using namespace asking_agent;

namespace {

message calling(const std::vector<std::pair<std::string, std::string>>& calls) {
  auto all = std::vector<tool_call>{};
  for (const auto& [name, id] : calls)
    all.push_back({id, name, {}});
  return ai_message("", std::move(all));
}

std::string question_about(const run_result<talk>& stopped, std::string_view call) {
  for (const auto& asked : stopped.interrupts)
    if (asked.value.as_string() == call)
      return asked.id;
  return {};
}

} // namespace

BOOST_AUTO_TEST_CASE(event_emitted_by_tool_reaches_the_stream) {
  auto options = react_agent_options<talk>{};
  options.model = std::make_shared<const fake_model>(
      std::vector<message>{calling({{"tell", "c1"}}), ai_message("done")});
  options.tools = {std::make_shared<const telling_tool>()};
  const auto agent = create_react_agent(std::move(options));
  auto e = engine{{.workers = 1}};
  auto state = talk{};
  state.messages = {human_message("go")};
  auto events = detail::engine_access::stream(e, agent, std::move(state), stream_mode::custom);
  const auto said = events.next();
  BOOST_TEST_REQUIRE(said.has_value());
  BOOST_TEST(said->data == json::value("half of c1"));
  BOOST_TEST(said->node == "tools");
  BOOST_TEST(!events.next().has_value());
}

BOOST_AUTO_TEST_CASE(debug_line_shows_mode_and_content_of_event) {
  auto options = react_agent_options<talk>{};
  options.model = std::make_shared<const fake_model>(std::vector<message>{ai_message("done")});
  const auto agent = create_react_agent(std::move(options));
  auto e = engine{{.workers = 1}};
  auto state = talk{};
  state.messages = {human_message("go")};
  auto events = detail::engine_access::stream(e, agent, std::move(state),
                                              stream_mode::updates | stream_mode::values);
  auto lines = std::vector<std::string>{};
  while (const auto event = events.next())
    lines.push_back(to_debug_line(*event, *detail::program_of(agent)));
  BOOST_TEST_REQUIRE(lines.size() == 3U);
  BOOST_TEST(lines[0].starts_with(R"([values] {"messages":[)"), lines[0]);
  BOOST_TEST(lines[1].starts_with(R"([updates] {"agent":{"messages":[)"), lines[1]);
  BOOST_TEST(lines[1].find("done") != std::string::npos, lines[1]);
  BOOST_TEST(lines[1].find("go") == std::string::npos, lines[1]);
  BOOST_TEST(lines[2].ends_with("}\n"), lines[2]);
}

BOOST_AUTO_TEST_CASE(debug_line_shows_values_of_interrupts) {
  auto options = react_agent_options<talk>{};
  options.model = std::make_shared<const fake_model>(std::vector<message>{ai_message("done")});
  const auto agent = create_react_agent(std::move(options));
  auto event = detail::run_event{};
  event.mode = stream_mode::updates;
  event.interrupts.emplace();
  event.interrupts->emplace_back().value = "sure?";
  BOOST_TEST(to_debug_line(event, *detail::program_of(agent)) ==
             "[updates] {\"__interrupt__\":[\"sure?\"]}\n");
}

BOOST_AUTO_TEST_CASE(debug_option_prints_each_step) {
  auto options = react_agent_options<talk>{};
  options.model = std::make_shared<const fake_model>(std::vector<message>{ai_message("done")});
  options.debug = true;
  const auto agent = create_react_agent(std::move(options));
  auto printed = std::ostringstream{};
  auto* const before = std::clog.rdbuf(printed.rdbuf());
  auto seen = 0;
  {
    auto e = engine{{.workers = 1}};
    auto state = talk{};
    state.messages = {human_message("go")};
    auto events = detail::engine_access::stream(e, agent, std::move(state), stream_mode::updates);
    while (const auto event = events.next()) // the reader receives only the modes it requested
      seen += event->mode == stream_mode::updates ? 1 : 100;
  }
  std::clog.rdbuf(before);
  BOOST_TEST(seen == 1);
  const auto text = printed.str();
  BOOST_TEST(text.starts_with(R"([values] {"messages":[)"), text);
  BOOST_TEST(text.find(R"([updates] {"agent":{"messages":[)") != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(interrupted_tool_calls_resume_separately_without_repeating_others) {
  auto counted = std::atomic<int>{0};
  auto options = react_agent_options<talk>{};
  options.model = std::make_shared<const fake_model>(std::vector<message>{
      calling({{"ask", "first"}, {"count", "c"}, {"ask", "second"}}), ai_message("done")});
  options.tools = {std::make_shared<const asking_tool>(),
                   make_tool<no_arguments>("count", "Counts.", [&](const no_arguments&) {
                     return std::to_string(++counted);
                   })};
  options.checkpointer = memory_checkpointer();
  const auto agent = create_react_agent(std::move(options));
  auto e = engine{{.workers = 1}};
  auto config = run_config{};
  config.thread_id = "t";
  auto state = talk{};
  state.messages = {human_message("go")};
  const auto stopped = e.try_invoke(agent, std::move(state), config);
  BOOST_TEST_REQUIRE((stopped.status == run_status::interrupted));
  BOOST_TEST_REQUIRE(stopped.interrupts.size() == 2U);

  auto one = resume({{question_about(stopped, "second"), "to the second"}});
  const auto later = e.try_invoke(agent, std::move(one), config);
  BOOST_TEST_REQUIRE((later.status == run_status::interrupted));
  BOOST_TEST_REQUIRE(later.interrupts.size() == 1U);

  auto other = resume({{question_about(later, "first"), "to the first"}});
  const auto ended = e.try_invoke(agent, std::move(other), config);
  BOOST_TEST_REQUIRE(!ended.error.has_value());
  BOOST_TEST_REQUIRE(ended.state.messages.size() == 6U);
  BOOST_TEST(ended.state.messages[2].content == "to the first");
  BOOST_TEST(ended.state.messages[3].content == "1");
  BOOST_TEST(ended.state.messages[4].content == "to the second");
  BOOST_TEST(counted == 1);
}

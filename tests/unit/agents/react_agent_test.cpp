// SPDX-License-Identifier: Apache-2.0
// The ReAct loop over JSON state in both versions: calls, errors, prompts, model choice and
// streams.
#include "actors/engine_access.hpp"
#include "agents/fake_model.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/messages/messages.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <latch>
#include <ostream>
#include <stdexcept>

using namespace superstep;
using superstep::testing::fake_model;

namespace superstep {
std::ostream& operator<<(std::ostream& out, react_version v) {
  return out << (v == react_version::v1 ? "v1" : "v2");
}
} // namespace superstep

namespace react_agent_test {

namespace {

namespace data = boost::unit_test::data;
const auto versions = std::vector<react_version>{react_version::v1, react_version::v2};

/// A tool that runs a function of the call.
class function_tool final : public tool {
public:
  using function = std::function<std::string(const tool_call&)>;
  function_tool(std::string name, function f) : f_{std::move(f)} {
    definition_.name = std::move(name);
    definition_.description = "A tool of a test.";
    definition_.parameters["type"] = "object";
  }
  const tool_definition& definition() const noexcept override { return definition_; }
  task<tool_output> run(const tool_call& call, const tool_context&) const override {
    auto out = tool_output{};
    out.content = f_(call);
    co_return out;
  }

private:
  tool_definition definition_;
  function f_;
};

tool_ptr make_test_tool(std::string name, function_tool::function f) {
  return std::make_shared<const function_tool>(std::move(name), std::move(f));
}
tool_ptr echo() {
  return make_test_tool("echo", [](const tool_call& c) { return "got " + to_text(c.args); });
}

tool_call call_of(std::string name, std::string id, int n = 0) {
  auto out = tool_call{std::move(id), std::move(name), {}};
  out.args["n"] = n;
  return out;
}

message with_usage(message m, std::int64_t tokens) {
  auto usage = token_usage{};
  usage.input_tokens = tokens;
  usage.total_tokens = tokens;
  m.usage = usage;
  return m;
}

chat_state question() {
  auto state = chat_state{};
  state.messages = {human_message("question")};
  return state;
}

/// Returns an agent whose only tool is echo().
compiled_graph<chat_state> echo_agent(chat_model_ptr model, react_version version) {
  auto options = react_agent_options<chat_state>{};
  options.model = std::move(model);
  options.tools = {echo()};
  options.version = version;
  return create_react_agent(std::move(options));
}

struct agent_run {
  std::shared_ptr<const fake_model> model;
  run_result<chat_state> ended;
  [[nodiscard]] const message_list& messages() const { return ended.state.messages; }
};

agent_run run(std::vector<message> answers, tool_list tools, react_version version,
              std::function<void(react_agent_options<chat_state>&, run_config&)> change = {}) {
  auto out = agent_run{std::make_shared<const fake_model>(std::move(answers)), {}};
  auto options = react_agent_options<chat_state>{};
  options.model = out.model;
  options.tools = std::move(tools);
  options.version = version;
  options.answer_invalid_calls = true;
  auto config = run_config{};
  config.run_id = "row-1";
  if (change)
    change(options, config);
  auto lanes = engine{engine_options{.workers = 2}};
  auto done = std::latch{1};
  const auto graph = create_react_agent(std::move(options));
  lanes.submit<chat_state>(graph, question(), config, [&](run_result<chat_state> r) {
    out.ended = std::move(r);
    done.count_down();
  });
  done.wait();
  return out;
}

} // namespace

BOOST_DATA_TEST_CASE(answer_without_tool_calls_ends_run, data::make(versions), version) {
  const auto got = run({ai_message("42")}, {echo()}, version);
  BOOST_REQUIRE(!got.ended.error);
  BOOST_TEST(got.messages().size() == 2U);
  BOOST_TEST(got.messages().back().content == "42");
  BOOST_TEST(got.ended.state.model_calls == 1U);
  BOOST_TEST(got.ended.state.tool_calls == 0U);
}

BOOST_DATA_TEST_CASE(tool_results_keep_order_of_their_calls, data::make(versions), version) {
  const auto calls =
      std::vector{call_of("echo", "c1", 1), call_of("echo", "c2", 2), call_of("echo", "c3", 3)};
  const auto got = run({ai_message("", calls), ai_message("done")}, {echo()}, version);
  BOOST_REQUIRE(!got.ended.error);
  BOOST_REQUIRE(got.messages().size() == 6U);
  for (auto i = std::size_t{0}; i < 3; ++i) {
    const auto& answer = got.messages()[i + 2];
    BOOST_TEST(answer.tool_call_id == calls[i].id);
    BOOST_TEST(answer.name == "echo");
    BOOST_TEST(answer.content == "got {\"n\":" + std::to_string(i + 1) + "}");
    BOOST_TEST(!answer.is_error);
  }
  BOOST_TEST(got.ended.state.model_calls == 2U);
  BOOST_TEST(got.ended.state.tool_calls == 3U);
  BOOST_TEST(got.ended.stats.steps == 3U);
}

// No clock: the latch opens only when all eight bodies are inside.
BOOST_DATA_TEST_CASE(blocking_tool_calls_of_one_answer_run_concurrently, data::make(versions),
                     version) {
  auto all_inside = std::latch{8};
  auto calls = std::vector<tool_call>{};
  for (auto i = 0; i < 8; ++i)
    calls.push_back(call_of("meet", "c" + std::to_string(i)));
  const auto meet = make_test_tool("meet", [&](const tool_call&) {
    all_inside.arrive_and_wait();
    return std::string{"met"};
  });
  const auto got = run({ai_message("", calls), ai_message("done")}, {meet}, version);
  BOOST_REQUIRE(!got.ended.error);
  BOOST_TEST(got.ended.state.tool_calls == 8U);
}

BOOST_DATA_TEST_CASE(calls_of_failing_or_unknown_tools_get_errors, data::make(versions), version) {
  const auto bad = make_test_tool(
      "bad", [](const tool_call&) -> std::string { throw std::runtime_error{"boom"}; });
  const auto calls =
      std::vector{call_of("bad", "c1"), call_of("nope", "c2"), call_of("echo", "c3")};
  const auto got = run({ai_message("", calls), ai_message("done")}, {bad, echo()}, version);
  BOOST_REQUIRE(!got.ended.error);
  BOOST_REQUIRE(got.messages().size() == 6U);
  BOOST_TEST(got.messages()[2].is_error);
  BOOST_TEST(got.messages()[2].content.find("boom") != std::string::npos);
  BOOST_TEST(got.messages()[3].content ==
             "Error: nope is not a valid tool, try one of [bad, echo].");
  BOOST_TEST(!got.messages()[4].is_error);
}

BOOST_DATA_TEST_CASE(calls_with_unparsable_arguments_get_error_answers, data::make(versions),
                     version) {
  auto first = ai_message("");
  first.invalid_tool_calls.push_back({"c1", "echo", "{\"n\":", "unexpected end"});
  const auto got = run({first, ai_message("done")}, {echo()}, version);
  BOOST_REQUIRE(!got.ended.error);
  BOOST_REQUIRE(got.messages().size() == 4U);
  BOOST_TEST(got.messages()[2].tool_call_id == "c1");
  BOOST_TEST(got.messages()[2].is_error);
  BOOST_TEST(got.messages()[3].content == "done");
}

BOOST_DATA_TEST_CASE(tool_call_without_id_gets_a_generated_id, data::make(versions), version) {
  const auto got =
      run({ai_message("", {call_of("echo", "")}), ai_message("done")}, {echo()}, version);
  BOOST_REQUIRE(!got.ended.error);
  BOOST_TEST(!got.messages()[1].tool_calls[0].id.empty());
  BOOST_TEST(got.messages()[2].tool_call_id == got.messages()[1].tool_calls[0].id);
}

BOOST_DATA_TEST_CASE(recursion_limit_ends_run_with_apology_message, data::make(versions), version) {
  auto endless = ai_message("", {call_of("echo", "c1")});
  const auto got = run({endless}, {echo()}, version,
                       [](auto&, run_config& config) { config.recursion_limit = 4; });
  BOOST_REQUIRE(!got.ended.error);
  BOOST_TEST(got.messages().back().content == "Sorry, need more steps to process this request.");
  BOOST_TEST(got.messages().back().tool_calls.empty());
}

BOOST_DATA_TEST_CASE(prompt_is_sent_to_model_but_not_stored, data::make(versions), version) {
  const auto got =
      run({ai_message("", {call_of("echo", "c1")}), ai_message("done")}, {echo()}, version,
          [](react_agent_options<chat_state>& o, run_config&) { o.prompt = "Be brief."; });
  BOOST_REQUIRE(!got.ended.error);
  const auto asked = got.model->asked();
  BOOST_REQUIRE(asked.size() == 2U);
  BOOST_REQUIRE(asked[1].system);
  BOOST_TEST((asked[1].system->type == message_type::system));
  BOOST_TEST(asked[1].system->content == "Be brief.");
  BOOST_TEST(asked[1].messages.size() == 3U);
  BOOST_TEST((got.messages()[0].type == message_type::human));
}

BOOST_DATA_TEST_CASE(functions_of_the_options_may_take_the_state_alone, data::make(versions),
                     version) {
  auto hooked = 0;
  const auto got =
      run({ai_message("done")}, {}, version, [&](react_agent_options<chat_state>& o, run_config&) {
        o.prompt = [](const chat_state& s) {
          auto all = message_list{system_message("Be brief.")};
          for (const auto& m : s.messages)
            all.push_back(m);
          return all;
        };
        o.pre_model_hook = [&hooked](const chat_state&) { ++hooked; };
      });
  BOOST_REQUIRE(!got.ended.error);
  BOOST_TEST(hooked == 1);
  const auto asked = got.model->asked();
  BOOST_REQUIRE(asked.size() == 1U);
  BOOST_TEST(asked[0].messages[0].content == "Be brief.");
}

BOOST_DATA_TEST_CASE(model_request_has_run_key_turn_and_parameters, data::make(versions), version) {
  const auto got = run({ai_message("", {call_of("echo", "c1")}), ai_message("done")}, {echo()},
                       version, [](react_agent_options<chat_state>& o, run_config& config) {
                         o.name = "math";
                         auto context = agent_context{};
                         context.parameters["temperature"] = 0.5;
                         config.context = std::make_shared<const agent_context>(std::move(context));
                       });
  BOOST_REQUIRE(!got.ended.error);
  const auto asked = got.model->asked();
  BOOST_TEST(asked[1].run_key == "row-1");
  BOOST_TEST(asked[1].turn == 1U);
  BOOST_TEST(asked[1].parameters.at("temperature").as_double() == 0.5);
  BOOST_TEST(asked[1].tools->at(0).name == "echo");
  BOOST_TEST(got.messages().back().name == "math");
}

BOOST_DATA_TEST_CASE(token_usage_of_all_answers_is_summed, data::make(versions), version) {
  const auto got = run(
      {with_usage(ai_message("", {call_of("echo", "c1")}), 10), with_usage(ai_message("done"), 5)},
      {echo()}, version);
  BOOST_REQUIRE(!got.ended.error);
  BOOST_TEST(got.ended.state.usage.total_tokens == 15);
}

BOOST_DATA_TEST_CASE(failing_model_fails_run_with_its_error, data::make(versions), version) {
  const auto got = run({}, {echo()}, version);
  BOOST_REQUIRE(got.ended.error.has_value());
  BOOST_TEST((got.ended.error->code == graph_errc::node_failed));
  BOOST_TEST(got.ended.error->node == "agent");
  BOOST_TEST(describe(got.ended.error->cause).find("the server is on fire") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(agent_without_tools_ignores_tool_calls) {
  const auto got = run({ai_message("hello", {call_of("echo", "c1")})}, {}, react_version::v2);
  BOOST_REQUIRE(!got.ended.error);
  BOOST_TEST(got.messages().size() == 2U);
}

BOOST_AUTO_TEST_CASE(v1_and_v2_agents_have_the_same_drawing) {
  auto pictures = std::vector<std::string>{};
  for (const auto version : versions) {
    const auto model = std::make_shared<const fake_model>(std::vector<message>{});
    pictures.push_back(echo_agent(model, version).mermaid());
  }
  BOOST_TEST(pictures[0] == pictures[1]);
  for (const auto* line :
       {"\tagent(agent)\n", "\ttools(tools)\n", "\t__start__ --> agent;\n", "\ttools --> agent;\n",
        "\tagent -.-> tools;\n", "\tagent -.-> __end__;\n"})
    BOOST_TEST(pictures[1].find(line) != std::string::npos, line << " is not in\n" << pictures[1]);
}

namespace {

/// Waits, then selects one model for the first call and the other for all later calls.
task<chat_model_ptr> choose_by_state(const chat_state& state, chat_model_ptr first,
                                     chat_model_ptr then) {
  auto rest = sleep_for{std::chrono::nanoseconds{1}};
  co_await rest;
  co_return state.model_calls == 0 ? first : then;
}

} // namespace

BOOST_AUTO_TEST_CASE(model_function_selects_model_by_state_and_context) {
  const auto first =
      std::make_shared<const fake_model>(std::vector{ai_message("", {call_of("echo", "c1")})});
  const auto then = std::make_shared<const fake_model>(std::vector{ai_message("done")});
  const auto context = std::make_shared<agent_context>();
  context->parameters["level"] = 1;
  const auto plain = run({ai_message("nobody asks me")}, {echo()}, react_version::v2,
                         [&](react_agent_options<chat_state>& options, run_config& config) {
                           config.context = context;
                           options.model = [=](const chat_state& state, const runtime& rt) {
                             const auto level =
                                 rt.context<agent_context>()->parameters.at("level").as_int64();
                             return state.model_calls < level ? chat_model_ptr{first} : then;
                           };
                         });
  BOOST_REQUIRE(!plain.ended.error);
  BOOST_TEST(plain.messages().back().content == "done");
  BOOST_TEST(plain.model->asked().empty());
  const auto waiting = run({}, {echo()}, react_version::v2, [&](auto& options, auto&) {
    options.model = [=](const chat_state& state, const runtime&) {
      return choose_by_state(state, first, then);
    };
  });
  BOOST_REQUIRE(!waiting.ended.error);
  BOOST_TEST(waiting.messages().back().content == "done");
  const auto none = run({}, {}, react_version::v2, [&](auto& options, auto&) {
    options.model = [](const chat_state&, const runtime&) { return chat_model_ptr{}; };
  });
  BOOST_TEST(none.ended.error.has_value());
}

namespace {

/// Streams its first answer in pieces if there is a reader; returns later ones whole.
class speaking_model final : public chat_model {
public:
  task<result<message>> complete(model_request request) const override {
    if (request.turn > 0)
      co_return ai_message("done");
    auto out = ai_message("think", {call_of("echo", "c1")});
    if (request.on_chunk)
      for (const auto* text : {"th", "ink"})
        request.on_chunk(message_chunk{ai_message(text), {}, false});
    co_return out;
  }
  std::string fingerprint() const override { return "speaking"; }
};

std::string shown(const value& told) {
  if (told.holds<message_chunk>())
    return "piece " + told.as<message_chunk>().part.content;
  const auto& m = told.as<message>();
  return (m.type == message_type::tool ? "tool " : "ai ") + m.content;
}

} // namespace

BOOST_DATA_TEST_CASE(each_message_is_streamed_only_once, data::make(versions), version) {
  const auto graph = echo_agent(std::make_shared<const speaking_model>(), version);
  auto lanes = engine{engine_options{.workers = 1}};
  auto events = detail::engine_access::stream(lanes, graph, question(), stream_mode::messages);
  auto told = std::vector<std::string>{};
  while (const auto event = events.next())
    told.push_back(std::string{event->node} + ": " + shown(event->message));
  const auto expected = std::vector<std::string>{"agent: piece th", "agent: piece ink",
                                                 "tools: tool got {\"n\":0}", "agent: ai done"};
  BOOST_TEST(told == expected, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(calls_of_answer_are_one_update_in_v1_and_one_each_in_v2, data::make(versions),
                     version) {
  const auto calls =
      std::vector{call_of("echo", "c1"), call_of("echo", "c2"), call_of("echo", "c3")};
  const auto model = std::make_shared<const fake_model>(
      std::vector<message>{ai_message("", calls), ai_message("done")});
  const auto graph = echo_agent(model, version);
  auto lanes = engine{engine_options{.workers = 1}};
  auto updates = 0;
  for (const auto& event : lanes.stream(graph, question(), stream_mode::updates)) {
    const auto* const update = std::get_if<update_event>(&event);
    updates += update != nullptr && update->node == "tools" ? 1 : 0;
  }
  BOOST_TEST(updates == (version == react_version::v1 ? 1 : 3));
}

} // namespace react_agent_test

// SPDX-License-Identifier: Apache-2.0
// Agents over described structs that hand over to each other.
#include "agents/fake_model.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/multi_agent.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/runtime/graph_error.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

using namespace superstep;

namespace superstep {
std::ostream& operator<<(std::ostream& out, react_version v); // defined in react_agent_test.cpp
} // namespace superstep

namespace teams_test {

// A state with an additional field and the messages in another member of the struct.
struct desk_state {
  std::string owner{};
  message_list messages{};
  using reducers = superstep::reducers<by<&desk_state::messages, add_messages>>;
};
BOOST_DESCRIBE_STRUCT(desk_state, (), (owner, messages))

struct echo_args {
  std::string text;
};
BOOST_DESCRIBE_STRUCT(echo_args, (), (text))

constexpr auto boss_rules = R"(scripted:
rules:
  - {type: human, match: '\d', calls: [{name: transfer_to_mathematician}]}
  - {type: human, calls: [{name: transfer_to_poet}]}
  - {text: 'My team has answered.'}
)";

compiled_graph<messages_state> saying(std::string name, const std::string& text) {
  return create_agent(
      {.name = std::move(name), .model = "scripted:\ndefault: {text: '" + text + "'}\n"});
}

std::vector<std::string> lines_of(const message_list& messages) {
  auto out = std::vector<std::string>{};
  for (const auto& m : messages)
    out.push_back((m.name.empty() ? "user" : m.name) + ": " + text_of(m));
  return out;
}

std::vector<std::string> run(const compiled_graph<messages_state>& team, std::string question) {
  auto input = messages_state{};
  input.messages.push_back(human_message(std::move(question)));
  auto lanes = engine{engine_options{.workers = 1}};
  return lines_of(lanes.invoke(team, std::move(input)).state.messages);
}

std::string refusal(supervisor_options options) {
  try {
    (void)create_supervisor(std::move(options));
  } catch (const compile_error& e) {
    return e.what();
  }
  return "it was built";
}

BOOST_AUTO_TEST_SUITE(teams)

BOOST_AUTO_TEST_CASE(supervisor_receives_last_message_of_chosen_agent) {
  const auto team = create_supervisor(
      {.model = boss_rules,
       .agents = {saying("mathematician", "It is 84."), saying("poet", "Roses are red.")}});
  const auto expected = std::vector<std::string>{
      "user: What is 12 * 7?",
      "supervisor: ",
      "transfer_to_mathematician: Successfully transferred to mathematician",
      "mathematician: It is 84.",
      "mathematician: Transferring back to supervisor",
      "transfer_back_to_supervisor: Successfully transferred back to supervisor",
      "supervisor: My team has answered."};
  BOOST_TEST(run(team, "What is 12 * 7?") == expected, boost::test_tools::per_element());
  BOOST_TEST(run(team, "Write a poem.")[3] == "poet: Roses are red.");
}

BOOST_AUTO_TEST_CASE(supervisor_with_full_history_keeps_agent_messages) {
  const auto team = create_supervisor(
      {.model = boss_rules,
       .agents = {saying("mathematician", "It is 84."), saying("poet", "Roses are red.")},
       .output = team_output::full_history,
       .records_returns = false});
  const auto said = run(team, "Write a poem.");
  BOOST_REQUIRE(said.size() >= 4U);
  BOOST_TEST(said[0] == "user: Write a poem.");
  BOOST_TEST(said[3] == "poet: Roses are red.");
}

/// Makes a tool that returns its argument.
tool_ptr echo() {
  return make_tool<echo_args>("echo", "Repeats.", [](const echo_args& a) { return a.text; });
}

chat_model_ptr answering(std::vector<message> answers) {
  return std::make_shared<const superstep::testing::fake_model>(std::move(answers));
}

message_list ended_messages(const compiled_graph<messages_state>& team) {
  auto input = messages_state{};
  input.messages.push_back(human_message("go"));
  auto lanes = engine{engine_options{.workers = 2}};
  const auto ended = lanes.try_invoke(team, std::move(input));
  BOOST_REQUIRE_MESSAGE(!ended.error, (ended.error ? ended.error->text : ""));
  return ended.state.messages;
}

/// Returns `ID: text` of each tool message.
std::vector<std::string> results_in(const message_list& messages) {
  auto out = std::vector<std::string>{};
  for (const auto& m : messages)
    if (m.type == message_type::tool)
      out.push_back(m.tool_call_id + ": " + text_of(m));
  return out;
}

struct handoff_case {
  react_version version;
  std::vector<tool_call> calls;
  std::vector<std::string> results;
  friend std::ostream& operator<<(std::ostream& out, const handoff_case& c) {
    return out << c.version << ' ' << c.calls.size() << ' ' << c.calls.front().name;
  }
};

constexpr auto no_result =
    "No result: another call of the same answer transferred the conversation to a";

const auto handoff_cases = std::vector<handoff_case>{
    {react_version::v2,
     {{"1", "transfer_to_a", {}}, {"2", "transfer_to_b", {}}},
     {std::string{"2: "} + no_result, "1: Successfully transferred to a"}},
    {react_version::v2,
     {{"1", "transfer_to_a", {}}, {"2", "echo", {{"text", "x"}}}},
     {"2: x", "1: Successfully transferred to a"}},
    {react_version::v2,
     {{"1", "echo", {{"text", "x"}}},
      {"2", "transfer_to_a", {}},
      {"3", "echo", {{"text", "y"}}},
      {"4", "transfer_to_b", {}}},
     {"1: x", "3: y", std::string{"4: "} + no_result, "2: Successfully transferred to a"}},
    {react_version::v1,
     {{"1", "transfer_to_a", {}}, {"2", "echo", {{"text", "x"}}}},
     {std::string{"2: "} + no_result, "1: Successfully transferred to a"}}};

BOOST_DATA_TEST_CASE(handoff_answers_other_calls_of_its_answer,
                     boost::unit_test::data::make(handoff_cases), c) {
  auto asking = agent_options<messages_state>{};
  asking.name = "boss";
  asking.model = answering({ai_message("", c.calls)});
  asking.tools = {make_handoff_tool({.agent = "a", .active_key = "active_agent"}),
                  make_handoff_tool({.agent = "b", .active_key = "active_agent"}), echo()};
  asking.version = c.version;
  const auto swarm = create_swarm(
      {.agents = {create_agent(std::move(asking)), saying("a", "I am a"), saying("b", "I am b")},
       .default_agent = "boss"});
  auto input = swarm_state{};
  input.messages.push_back(human_message("go"));
  auto lanes = engine{engine_options{.workers = 2}};
  const auto ended = lanes.try_invoke(swarm, std::move(input));
  BOOST_REQUIRE_MESSAGE(!ended.error, (ended.error ? ended.error->text : ""));
  BOOST_TEST(ended.state.active_agent == "a");
  BOOST_TEST(lines_of(ended.state.messages).back() == "a: I am a");
  BOOST_TEST(results_in(ended.state.messages) == c.results, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(handoff_runs_once_after_several_calls) {
  const auto runs = std::make_shared<std::atomic<int>>(0);
  auto counting = middleware<messages_state>{};
  counting.name = "counting";
  counting.wrap_tool_call = [runs](tool_request request,
                                   tool_execute execute) -> task<tool_answer> {
    if (request.call.name == "transfer_to_a")
      ++*runs;
    auto running = execute(std::move(request));
    co_return co_await running;
  };
  auto asking = agent_options<messages_state>{};
  asking.name = "boss";
  asking.model = answering({ai_message("", {{"1", "echo", {{"text", "x"}}},
                                            {"2", "transfer_to_a", {}},
                                            {"3", "echo", {{"text", "y"}}},
                                            {"4", "echo", {{"text", "z"}}}})});
  asking.tools = {make_handoff_tool({.agent = "a", .active_key = "active_agent"}), echo()};
  asking.middleware = {std::move(counting)};
  const auto swarm =
      create_swarm({.agents = {create_agent(std::move(asking)), saying("a", "I am a")},
                    .default_agent = "boss"});
  auto input = swarm_state{};
  input.messages.push_back(human_message("go"));
  auto lanes = engine{engine_options{.workers = 2}};
  const auto ended = lanes.invoke(swarm, std::move(input));
  BOOST_TEST(lines_of(ended.state.messages).back() == "a: I am a");
  BOOST_TEST(runs->load() == 1);
}

BOOST_AUTO_TEST_CASE(failed_handoff_does_not_block_the_next) {
  auto denying = middleware<messages_state>{};
  denying.name = "denying";
  denying.wrap_tool_call = [](tool_request request, tool_execute execute) -> task<tool_answer> {
    if (request.call.name == "transfer_to_a")
      throw tool_exception{"a is asleep"};
    auto running = execute(std::move(request));
    co_return co_await running;
  };
  auto asking = agent_options<messages_state>{};
  asking.name = "boss";
  asking.model =
      answering({ai_message("", {{"1", "transfer_to_a", {}}, {"2", "transfer_to_b", {}}})});
  asking.tools = tool_node{{make_handoff_tool({.agent = "a", .active_key = "active_agent"}),
                            make_handoff_tool({.agent = "b", .active_key = "active_agent"})},
                           {.errors = tool_errors::all()}};
  asking.middleware = {std::move(denying)};
  const auto swarm = create_swarm(
      {.agents = {create_agent(std::move(asking)), saying("a", "I am a"), saying("b", "I am b")},
       .default_agent = "boss"});
  auto input = swarm_state{};
  input.messages.push_back(human_message("go"));
  auto lanes = engine{engine_options{.workers = 1}};
  const auto ended = lanes.try_invoke(swarm, std::move(input));
  BOOST_REQUIRE_MESSAGE(!ended.error, (ended.error ? ended.error->text : ""));
  BOOST_TEST(lines_of(ended.state.messages).back() == "b: I am b");
}

BOOST_AUTO_TEST_CASE(supervisor_hands_over_to_several_agents_in_turn) {
  const auto boss = answering({ai_message("", {{"1", "transfer_to_a", {}},
                                               {"2", "transfer_to_b", {}},
                                               {"3", "echo", {{"text", "x"}}}}),
                               ai_message("unused"), ai_message("unused"),
                               ai_message("", {{"4", "transfer_to_b", {}}}), ai_message("unused"),
                               ai_message("unused"), ai_message("done")});
  const auto said = lines_of(ended_messages(create_supervisor(
      {.model = boss, .agents = {saying("a", "1"), saying("b", "2")}, .tools = {echo()}})));
  BOOST_TEST(said.back() == "supervisor: done");
  for (const auto* line : {"echo: x", "a: 1", "b: 2"})
    BOOST_TEST((std::ranges::find(said, line) != said.end()), line);
}

BOOST_AUTO_TEST_CASE(handoff_tool_names_follow_agent_names) {
  const auto name = [](std::string agent) {
    return make_handoff_tool({.agent = std::move(agent)})->definition().name;
  };
  BOOST_TEST(name("Math Expert") == "transfer_to_math_expert");
  BOOST_TEST(name(" a \t\n b ") == "transfer_to_a_b");
  BOOST_TEST(name("math_expert") == "transfer_to_math_expert");
  BOOST_TEST(make_handoff_tool({.agent = "a b", .name = "Ask Them"})->definition().name ==
             "Ask Them");
  const auto boss = answering({ai_message("", {{"1", "transfer_to_math_expert", {}}}),
                               ai_message("unused"), ai_message("unused"), ai_message("done")});
  const auto said = lines_of(ended_messages(create_supervisor(
      {.model = boss, .agents = {saying("Math Expert", "4")}, .name = "The Boss"})));
  BOOST_REQUIRE(said.size() == 7U);
  BOOST_TEST(said[2] == "transfer_to_math_expert: Successfully transferred to Math Expert");
  BOOST_TEST(said[5] == "transfer_back_to_the_boss: Successfully transferred back to The Boss");
}

BOOST_AUTO_TEST_CASE(return_records_have_unique_call_ids) {
  // The first agent adds five messages of its own, of which the team keeps one, and the second
  // removes the whole history but its own answer.
  const auto long_work = create_agent(
      {.name = "long",
       .model = answering({ai_message(""), ai_message("", {{"x", "echo", {{"text", "1"}}}}),
                           ai_message("", {{"y", "echo", {{"text", "2"}}}}), ai_message("done")}),
       .tools = {echo()}});
  auto forgetful = agent_options<messages_state>{};
  forgetful.name = "forgetful";
  forgetful.model = "scripted:\ndefault: {text: 'done'}\n";
  forgetful.pre_model_hook = [](const messages_state&, const runtime&) {
    return update{set<&messages_state::messages>(
        message_list{remove_message(std::string{remove_all_messages}), human_message("work")})};
  };
  const auto boss = answering(
      {ai_message("", {{"1", "transfer_to_long", {}}}), ai_message("unused"), ai_message("unused"),
       ai_message("", {{"2", "transfer_to_forgetful", {}}}), ai_message("unused"),
       ai_message("unused"), ai_message("", {{"3", "transfer_to_forgetful", {}}}),
       ai_message("unused"), ai_message("unused"), ai_message("finished")});
  const auto messages = ended_messages(create_supervisor(
      {.model = boss, .agents = {long_work, create_agent(std::move(forgetful))}}));
  auto ids = std::set<std::string>{};
  for (const auto& m : messages)
    for (const auto& call : m.tool_calls)
      BOOST_TEST(ids.insert(call.id).second, call.id);
  BOOST_TEST(ids.size() == 6U);
}

BOOST_AUTO_TEST_CASE(last_message_output_keeps_calls_of_tool_results) {
  const auto direct = create_agent(
      {.name = "direct",
       .model = answering({ai_message(""), ai_message("", {{"x", "echo", {{"text", "1"}}},
                                                           {"y", "echo", {{"text", "2"}}}})}),
       .tools = {echo()},
       .return_direct = {"echo"}});
  const auto boss = answering({ai_message("", {{"1", "transfer_to_direct", {}}}),
                               ai_message("unused"), ai_message("unused"), ai_message("done")});
  const auto said =
      lines_of(ended_messages(create_supervisor({.model = boss, .agents = {direct}})));
  const auto expected = std::vector<std::string>{
      "user: go",
      "supervisor: ",
      "transfer_to_direct: Successfully transferred to direct",
      "direct: ",
      "echo: 1",
      "echo: 2",
      "direct: Transferring back to supervisor",
      "transfer_back_to_supervisor: Successfully transferred back to supervisor",
      "supervisor: done"};
  BOOST_TEST(said == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(supervisor_rejects_empty_and_duplicate_agent_names) {
  const auto poet = saying("poet", "Roses are red.");
  BOOST_TEST(refusal({.model = boss_rules, .agents = {saying("", "x")}}).find("has no name") !=
             std::string::npos);
  BOOST_TEST(refusal({.model = boss_rules, .agents = {poet, poet}}).find("have the name 'poet'") !=
             std::string::npos);
  BOOST_TEST(refusal({.model = boss_rules, .agents = {poet}, .name = "poet"})
                 .find("have the name 'poet'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(supervisor_rejects_missing_model_and_unknown_provider) {
  const auto poet = saying("poet", "Roses are red.");
  BOOST_TEST(refusal({.model = "", .agents = {poet}}).find("needs a model") != std::string::npos);
  BOOST_TEST(refusal({.model = "nobody:x", .agents = {poet}}).find("has no known provider") !=
             std::string::npos);
}

compiled_graph<messages_state> member(const std::string& name, const std::string& other) {
  const auto rules = "scripted:\nrules:\n  - {type: human, match: '" + other +
                     " please', calls: [{name: transfer_to_" + other + "}]}\n" +
                     "default: {text: '" + name + " here'}\n";
  return create_agent(
      {.name = name,
       .model = rules,
       .tools = {make_handoff_tool({.agent = other, .active_key = "active_agent"})}});
}

BOOST_AUTO_TEST_CASE(next_swarm_turn_starts_with_active_agent) {
  const auto swarm = create_swarm({.agents = {member("alice", "bob"), member("bob", "alice")},
                                   .default_agent = "alice",
                                   .checkpointer = memory_checkpointer()});
  auto lanes = engine{engine_options{.workers = 1}};
  const auto turn = [&](std::string text) {
    auto config = run_config{};
    config.thread_id = "t";
    auto words = update{set<&swarm_state::messages>({human_message(std::move(text))})};
    const auto ended = lanes.invoke(swarm, std::move(words), config).state;
    return ended.active_agent + ", " + lines_of(ended.messages).back();
  };
  BOOST_TEST(turn("hello") == ", alice: alice here");
  BOOST_TEST(turn("bob please") == "bob, bob: bob here");
  BOOST_TEST(turn("hello") == "bob, bob: bob here");
  BOOST_TEST(turn("alice please") == "alice, alice: alice here");
}

BOOST_AUTO_TEST_CASE(swarm_rejects_unknown_default_agent) {
  BOOST_CHECK_THROW((void)create_swarm({.agents = {member("alice", "bob"), member("bob", "alice")},
                                        .default_agent = "x"}),
                    compile_error);
}

BOOST_DATA_TEST_CASE(handoff_reaches_parent_graph_with_different_state_type,
                     boost::unit_test::data::make({react_version::v1, react_version::v2}),
                     version) {
  auto asking = react_agent_options<messages_state>{};
  asking.name = "first";
  asking.model = "scripted:\nrules:\n  - {type: human, calls: [{name: transfer_to_second}]}\n";
  asking.tools = {make_handoff_tool({.agent = "second", .active_key = "owner"})};
  asking.version = version;
  auto g = graph<desk_state>{};
  const auto in = [](const desk_state& state) {
    auto out = messages_state{};
    out.messages = state.messages;
    return out;
  };
  const auto out = [](const messages_state& ended) {
    return update{set<&desk_state::messages>(ended.messages)};
  };
  auto leads = node_options{};
  leads.destinations = {"second"};
  g.add(node<desk_state>{"first"}, create_react_agent(std::move(asking)), in, out, leads);
  g.add(node<desk_state>{"second"}, saying("second", "done"), in, out);
  g.edge(start, "first");
  auto input = desk_state{};
  input.messages.push_back(human_message("go"));
  auto lanes = engine{engine_options{.workers = 1}};
  const auto ended = lanes.invoke(g.compile(), std::move(input)).state;
  BOOST_TEST(ended.owner == "second");
  BOOST_TEST(lines_of(ended.messages).back() == "second: done");
  BOOST_TEST(ended.messages.size() == 4U);
}

BOOST_AUTO_TEST_CASE(handoff_that_writes_unknown_field_fails_run) {
  auto asking = agent_options<messages_state>{};
  asking.name = "first";
  asking.model = "scripted:\nrules:\n  - {type: human, calls: [{name: transfer_to_second}]}\n";
  asking.tools = {make_handoff_tool({.agent = "second", .active_key = "nothing"})};
  const auto swarm =
      create_swarm({.agents = {create_agent(std::move(asking)), saying("second", "x")},
                    .default_agent = "first"});
  auto lanes = engine{engine_options{.workers = 1}};
  auto input = swarm_state{};
  input.messages.push_back(human_message("go"));
  const auto ended = lanes.try_invoke(swarm, std::move(input));
  BOOST_REQUIRE(ended.error.has_value());
  BOOST_TEST(ended.error->text.find("'nothing'") != std::string::npos, ended.error->text);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace teams_test

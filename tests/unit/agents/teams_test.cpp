// SPDX-License-Identifier: Apache-2.0
// Agents over described structs that hand over to each other.
#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/multi_agent.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/runtime/graph_error.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

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

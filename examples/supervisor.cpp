// SPDX-License-Identifier: Apache-2.0
// A supervisor with two agents to hand work to: each is an agent of its own, a node of the graph
// around them, and reports back. The models follow rules, so that the example runs anywhere.
#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_react_agent.hpp>
#include <superstep/agents/handoff.hpp>
#include <superstep/agents/json_agent.hpp>
#include <superstep/agents/json_messages.hpp>
#include <superstep/models/scripted_model.hpp>
#include <superstep/tools/calculator.hpp>

#include <iostream>
#include <string>
#include <utility>

namespace ss = superstep;

constexpr auto supervisor_rules = R"(
rules:
  - type: human
    match: '\d'
    text: One for the mathematician.
    calls: [{name: transfer_to_mathematician}]
  - {type: human, calls: [{name: transfer_to_poet}]}
  - {type: ai, text: 'My team says: \0'}
)";
constexpr auto mathematician_rules = R"(
rules:
  - {type: tool, tool: calculator, text: 'It is \0.'}
  - {type: tool, calls: [{name: calculator, args: {expression: '12 * 7'}}]}
)";
constexpr auto poet_rules = R"(
default: {text: Roses are red.}
)";

ss::compiled_json_graph make_agent(std::string name, const char* rules, ss::tool_list tools) {
  auto script = ss::scripted_model_options{};
  script.text = rules;
  auto options = ss::react_agent_options<ss::json::value>{};
  options.name = std::move(name);
  options.model = ss::make_scripted_model(std::move(script)).value();
  options.tools = std::move(tools);
  return ss::create_react_agent(std::move(options));
}

ss::compiled_json_graph make_team() {
  auto team = ss::json_graph{};
  team.channel("messages", ss::add_json_messages, ss::json::array{});
  team.add("supervisor", make_agent("supervisor", supervisor_rules,
                                     {ss::make_handoff_tool({.agent = "mathematician"}),
                                      ss::make_handoff_tool({.agent = "poet"})}));
  team.add("mathematician",
            make_agent("mathematician", mathematician_rules, {ss::make_calculator({})}));
  team.add("poet", make_agent("poet", poet_rules, {}));
  team.edge("__start__", "supervisor");
  team.edge("mathematician", "supervisor").edge("poet", "supervisor");
  return team.compile();
}

int main() {
  const auto team = make_team();
  auto engine = ss::engine{};
  for (const auto* question : {"What is 12 * 7?", "Write me a poem."}) {
    const auto done = engine.invoke(team, question);
    for (const auto& m : ss::messages_of(done.state))
      std::cout << (m.name.empty() ? "user" : m.name) << ": " << ss::text_of(m) << '\n';
  }
}

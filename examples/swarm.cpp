// SPDX-License-Identifier: Apache-2.0
// A swarm: agents that hand the conversation over to each other, without anybody above them. The
// graph keeps who is speaking, so that the next turn of the thread begins with that one. The models
// follow rules, so that the example runs anywhere.
#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_react_agent.hpp>
#include <superstep/agents/handoff.hpp>
#include <superstep/agents/json_agent.hpp>
#include <superstep/agents/json_messages.hpp>
#include <superstep/checkpoint/memory_saver.hpp>
#include <superstep/models/scripted_model.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace ss = superstep;

constexpr auto active = "active_agent";

constexpr auto sales_rules = R"(
rules:
  - {type: human, match: broken, calls: [{name: transfer_to_support}]}
  - {type: tool, text: 'What would you like to buy?'}
default: {text: 'Gladly; that will be 12 euros.'}
)";
constexpr auto support_rules = R"(
rules:
  - {type: human, match: buy, calls: [{name: transfer_to_sales}]}
  - {type: tool, text: 'What is wrong with it?'}
default: {text: 'Have you tried turning it off and on again?'}
)";

/// A member that can hand over to one other.
ss::compiled_json_graph make_member(std::string name, const std::string& other, const char* rules) {
  auto script = ss::scripted_model_options{};
  script.text = rules;
  auto options = ss::react_agent_options<ss::json::value>{};
  options.name = std::move(name);
  options.model = ss::make_scripted_model(std::move(script)).value();
  options.tools = {ss::make_handoff_tool({.agent = other, .active_key = active})};
  return ss::create_react_agent(std::move(options));
}

ss::compiled_json_graph make_swarm() {
  auto swarm = ss::json_graph{};
  swarm.channel("messages", ss::add_json_messages, ss::json::array{}).channel(active);
  swarm.add("sales", make_member("sales", "support", sales_rules));
  swarm.add("support", make_member("support", "sales", support_rules));
  swarm.branch("__start__",
               [](const ss::json::value& state) {
                 const auto* who = state.as_object().if_contains(active);
                 return std::string{who != nullptr ? who->as_string().c_str() : "sales"};
               },
               {{"sales", "sales"}, {"support", "support"}});
  auto options = ss::compile_options{};
  options.checkpointer = std::make_shared<ss::memory_saver>();
  return swarm.compile(std::move(options));
}

int main() {
  const auto swarm = make_swarm();
  auto engine = ss::engine{};
  for (const auto* words : {"A kettle, please.", "The last one is broken.", "It does not heat.",
                            "Then I buy another one."}) {
    auto config = ss::run_config{};
    config.thread_id = "kettles";
    const auto done = engine.invoke(swarm, words, config);
    const auto all = ss::messages_of(done.state);
    std::cout << "user: " << words << '\n' << all.back().name << ": " << all.back().content << '\n';
  }
}

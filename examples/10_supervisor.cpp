// SPDX-License-Identifier: Apache-2.0
// A supervisor hands each question to one of two agents, which report back to it.
#include "model.hpp"

#include <superstep/superstep.hpp>

#include <iostream>

namespace ss = superstep;

constexpr auto supervisor_rules = R"(
rules:
  - {type: human, match: '\d', calls: [{name: transfer_to_mathematician}]}
  - {type: human, calls: [{name: transfer_to_poet}]}
  - {type: tool, text: My team has answered.}
)";

int main() {
  auto engine = ss::engine{};
  auto mathematician = ss::create_agent({
      .name = "mathematician",
      .model = model_or_script("{default: {text: It is 84.}}"),
      .prompt = "Answer questions about numbers.",
  });
  auto poet = ss::create_agent({
      .name = "poet",
      .model = model_or_script("{default: {text: Roses are red.}}"),
      .prompt = "Answer in verse.",
  });
  auto team = ss::create_supervisor({
      .model = model_or_script(supervisor_rules),
      .agents = {mathematician, poet},
      .prompt = "Hand each question to the agent that fits it.",
  });
  for (const auto* question : {"What is 12 * 7?", "Tell me about roses."})
    for (const auto& m : engine.invoke(team, question).state.messages)
      std::cout << (m.name.empty() ? "user" : m.name) << ": " << ss::text_of(m) << '\n';
}

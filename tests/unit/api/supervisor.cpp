// SPDX-License-Identifier: Apache-2.0
// A supervisor over typed agents, on models that follow rules.
#include <superstep/superstep.hpp>

#include <iostream>
#include <string>

namespace ss = superstep;

constexpr auto boss = R"(scripted:
rules:
  - {type: human, match: '\d', calls: [{name: transfer_to_mathematician}]}
  - {type: human, calls: [{name: transfer_to_poet}]}
  - {type: tool, text: My team has answered.}
)";

int main() {
  auto engine = ss::engine{};
  auto mathematician =
      ss::create_agent({.name = "mathematician", .model = "scripted:{default: {text: It is 84.}}"});
  auto poet =
      ss::create_agent({.name = "poet", .model = "scripted:{default: {text: Roses are red.}}"});
  auto team = ss::create_supervisor({.model = boss, .agents = {mathematician, poet}});
  auto result = engine.invoke(team, "What is 12 * 7?");
  for (const auto& m : result.state.messages)
    if (m.name == "mathematician" || m.name == "poet")
      std::cout << m.name << ": " << ss::text_of(m) << '\n';
}

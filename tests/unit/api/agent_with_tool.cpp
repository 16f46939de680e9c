// SPDX-License-Identifier: Apache-2.0
// An agent with a custom tool. SUPERSTEP_MODEL selects its model, for example openai:gpt-4o-mini;
// the default is a scripted model, which needs neither a key nor a network.
//! [program]
#include <superstep/superstep.hpp>

#include <cstdlib>
#include <iostream>

namespace ss = superstep;

struct weather_args {
  std::string city;
};
BOOST_DESCRIBE_STRUCT(weather_args, (), (city))

std::string weather(const weather_args& args) {
  return "It is sunny in " + args.city + ".";
}

std::string model() {
  const auto* named = std::getenv("SUPERSTEP_MODEL");
  return named != nullptr ? named : R"(scripted:
rules:
  - {type: tool, text: '\0'}
  - {type: human, match: 'in (\w+)', calls: [{name: weather, args: {city: '\1'}}]}
)";
}

int main() {
  auto engine = ss::engine{};
  auto agent = ss::create_agent({
      .model = model(),
      .tools = {ss::make_tool("weather", "Current weather in a city.", weather)},
      .prompt = "Answer in one sentence.",
  });
  auto result = engine.invoke(agent, "What is the weather in Rome?");
  std::cout << ss::text_of(result.state.messages.back()) << '\n';
}
//! [program]

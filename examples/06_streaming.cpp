// SPDX-License-Identifier: Apache-2.0
// Streams a run: prints the model's answer piece by piece, and a line for each task that ends.
#include "model.hpp"

#include <superstep/superstep.hpp>

#include <iostream>
#include <string>
#include <variant>

namespace ss = superstep;

struct city_args {
  std::string city;
};
BOOST_DESCRIBE_STRUCT(city_args, (), (city))

constexpr auto rules = R"(
rules:
  - {type: human, match: 'in (\w+)', calls: [{name: weather, args: {city: '\1'}}]}
  - {type: tool, text: 'The forecast: \0'}
)";

/// Prints pieces of messages and ends of tasks. The last function ignores all other events.
struct printer {
  void operator()(const ss::message_event& e) const {
    const auto* piece = e.get_if<ss::message_chunk>();
    if (piece != nullptr && !ss::text_of(piece->part).empty()) // empty in a piece of a tool call
      std::cout << ss::text_of(piece->part) << '|' << std::flush;
  }
  void operator()(const ss::update_event& e) const { std::cout << '[' << e.node << "]\n"; }
  void operator()(const auto&) const {}
};

int main() {
  auto engine = ss::engine{};
  auto agent = ss::create_agent({
      .model = model_or_script(rules),
      .tools = {ss::make_tool("weather", "The current weather in a city.",
                              [](const city_args& args) { return "sunny in " + args.city; })},
  });
  for (const auto& event : engine.stream(agent, "What is the weather in Rome?",
                                         ss::stream_mode::messages | ss::stream_mode::updates))
    std::visit(printer{}, event);
}

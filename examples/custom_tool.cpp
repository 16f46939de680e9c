// SPDX-License-Identifier: Apache-2.0
// An agent with a tool of its own: a function whose arguments are a struct. The model follows
// rules, so that the example runs anywhere; make_provider_model() takes its place.
#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_react_agent.hpp>
#include <superstep/models/scripted_model.hpp>
#include <superstep/tools/make_tool.hpp>

#include <boost/describe/class.hpp>

#include <array>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

namespace ss = superstep;

struct distance_arguments {
  double km = 0;
  double kmh = 0;
  static constexpr auto descriptions = std::array{
      std::pair<std::string_view, std::string_view>{"km", "length of the way in kilometres"},
      std::pair<std::string_view, std::string_view>{"kmh", "speed in kilometres per hour"}};
};
BOOST_DESCRIBE_STRUCT(distance_arguments, (), (km, kmh))

constexpr auto rules = R"(
rules:
  - type: human
    match: '(\d+) km at (\d+) km/h and then (\d+) km at (\d+) km/h'
    calls:
      - {name: travel_time, args: {km: \1, kmh: \2}}
      - {name: travel_time, args: {km: \3, kmh: \4}}
  - {type: tool, text: The second part takes \0 hours.}
)";

int main() {
  auto script = ss::scripted_model_options{};
  script.text = rules;
  auto options = ss::react_agent_options<ss::chat_state>{};
  options.model = ss::make_scripted_model(std::move(script)).value();
  options.tools = {
      ss::make_tool<distance_arguments>("travel_time", "Hours that a way takes at a speed.",
                                        [](const distance_arguments& a) { return a.km / a.kmh; })};

  auto input = ss::chat_state{};
  input.messages = {ss::human_message("How long is 120 km at 80 km/h and then 30 km at 50 km/h?")};
  auto engine = ss::engine{};
  const auto done = engine.invoke(ss::create_react_agent(std::move(options)), std::move(input)).state;
  for (const auto& m : done.messages)
    std::cout << (m.name.empty() ? "" : m.name + ": ") << ss::text_of(m) << '\n';
}

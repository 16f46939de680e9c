// SPDX-License-Identifier: Apache-2.0
// Four kinds of tools in one agent. The model calls all of them in one answer, so they run in
// parallel: the waits of the coroutine and of the blocking function overlap.
#include "model.hpp"

#include <superstep/superstep.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <thread>

namespace ss = superstep;
using namespace std::chrono_literals;

struct city_args {
  std::string city;
};
BOOST_DESCRIBE_STRUCT(city_args, (), (city)) // defines the arguments' JSON Schema and their check

std::string currency(const city_args& args) {
  return args.city == "Tokyo" ? "yen" : "euro";
}

ss::task<std::string> weather(city_args args) { // a coroutine waits without a thread
  co_await ss::sleep_for(20ms);
  co_return "It is sunny in " + args.city + ".";
}

std::string free_rooms(const city_args& args, const ss::tool_context& call) { // may block
  for (auto i = 0; i < 20 && !call.stop.stop_requested(); ++i)
    std::this_thread::sleep_for(1ms);
  return args.city + " has 3 free rooms.";
}

constexpr auto rules = R"(rules:
  - type: human
    match: 'to (\w+)'
    calls:
      - {name: currency, args: {city: '\1'}}
      - {name: weather, args: {city: '\1'}}
      - {name: free_rooms, args: {city: '\1'}}
      - {name: word_count, args: {text: '\0'}}
  - {type: tool, text: Have a good trip!}
)";

int main() {
  auto engine = ss::engine{};
  auto agent = ss::create_agent({
      .model = model_or_script(rules),
      .tools = {ss::make_tool("currency", "The currency used in a city.", currency),
                ss::make_tool("weather", "The current weather in a city.", weather),
                ss::make_tool("free_rooms", "The number of free hotel rooms.", free_rooms),
                ss::make_tool("word_count", "Counts the words of a text.", {.argv = {"wc", "-w"}})},
  });
  for (const auto& m : engine.invoke(agent, "I travel to Rome.").state.messages)
    if (m.type == ss::message_type::tool)
      std::cout << m.name << ": " << ss::text_of(m) << '\n';
}

// SPDX-License-Identifier: Apache-2.0
// A graph whose state is a JSON object, used like every other graph.
#include <superstep/superstep.hpp>

#include <iostream>

namespace ss = superstep;

int main() {
  auto engine = ss::engine{};
  auto g = ss::json_graph{};
  g.channel("total", ss::json_reducer::add, 0).add("step", [](const ss::json::value& state) {
    return state;
  });
  g.edge("__start__", "step");
  auto result = engine.invoke(g.compile(), {{"total", 1}}, {.thread_id = "t"});
  std::cout << result.state.at("total") << '\n';
}

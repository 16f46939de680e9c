// SPDX-License-Identifier: Apache-2.0
// A state with the name of that in same_names.cpp, but with other fields.
#include <superstep/superstep.hpp>

#include <functional>
#include <string>

namespace ss = superstep;

int run_other();

namespace {

struct state {
  std::string text{};
  int last = 0;
  int count = 0;
  using reducers = ss::reducers<ss::by<&state::count, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(state, (), (text, last, count))

constexpr auto add = ss::node<state>{"add"};

} // namespace

int run_other() {
  auto g = ss::graph<state>{};
  g.edge(ss::start, add);
  g.add(add, [](const state&) { return ss::set<&state::count>(10); });
  auto graph = g.compile();
  auto engine = ss::engine{};
  return engine.invoke(graph, state{.text = "text", .count = 20}).state.count;
}

// SPDX-License-Identifier: Apache-2.0
// A state in an unnamed namespace. same_names_other.cpp has another one with the same name.
#include <superstep/superstep.hpp>

#include <functional>
#include <iostream>

namespace ss = superstep;

int run_other();

namespace {

struct state {
  int count = 0;
  int last = 0;
  using reducers = ss::reducers<ss::by<&state::count, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(state, (), (count, last))

constexpr auto add = ss::node<state>{"add"};

} // namespace

int main() {
  auto g = ss::graph<state>{};
  g.edge(ss::start, add);
  g.add(add, [](const state& s) {
    return ss::update{ss::set<&state::count>(1), ss::set<&state::last>(s.count)};
  });
  auto graph = g.compile();
  auto engine = ss::engine{};
  const auto own = engine.invoke(graph, state{.count = 4}).state;
  std::cout << own.count << ' ' << own.last << ' ' << run_other() << '\n';
}

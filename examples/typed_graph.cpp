// SPDX-License-Identifier: Apache-2.0
// A graph over a struct of your own: two nodes and a loop.
//! [program]
#include <superstep/actors/engine.hpp>

#include <boost/describe/class.hpp>

#include <functional>
#include <iostream>

namespace ss = superstep;

struct search {
  double low = 0;
  double high = 2;
  int tries = 0;
  using reducers = ss::reducers<ss::by<&search::tries, std::plus<>>>; // writes are added up
};
BOOST_DESCRIBE_STRUCT(search, (), (low, high, tries))

constexpr auto narrow = ss::node<search>{"narrow"};
constexpr auto report = ss::node<search>{"report"};

int main() {
  auto g = ss::graph<search>{};
  g.add(narrow, [](const search& s) { // a node reads the state and returns what it changes
    const auto middle = (s.low + s.high) / 2;
    auto out = ss::update{ss::set<&search::tries>(1)};
    if (middle * middle < 2)
      out.add(ss::set<&search::low>(middle));
    else
      out.add(ss::set<&search::high>(middle));
    return out;
  });
  g.add(report, [](const search& s) { std::cout << s.low << " after " << s.tries << " tries\n"; });
  g.edge(ss::start, narrow);
  g.branch(narrow, [](const search& s) { return s.high - s.low > 1e-6 ? narrow : report; },
           {narrow, report});
  g.edge(report, ss::end);

  auto engine = ss::engine{};
  engine.invoke(g.compile({.name = "root_of_two"}), search{});
}
//! [program]

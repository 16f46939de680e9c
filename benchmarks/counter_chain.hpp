// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/graph.hpp>

#include <boost/describe/class.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

namespace superstep::bench {

/// The state of graphs whose nodes count.
struct counter {
  std::int64_t n = 0;
};
BOOST_DESCRIBE_STRUCT(counter, (), (n))

/// The body of such a node.
inline auto add_one(const counter& s) {
  return update{set<&counter::n>(s.n + 1)};
}

/// Builds START -> n0 -> … -> n(K-1) -> END.
template <class State, class Body>
compiled_graph<State> make_chain(std::size_t length, Body body) {
  auto names = std::deque<std::string>{}; // destinations refer to these names
  auto g = graph<State>{};
  auto last = destination{start};
  for (auto i = std::size_t{0}; i < length; ++i) {
    const auto next = node<State>{names.emplace_back("n" + std::to_string(i))};
    g.add(next, body);
    g.edge(last, next);
    last = destination{next};
  }
  g.edge(last, end);
  return g.compile({.name = "chain"});
}

} // namespace superstep::bench

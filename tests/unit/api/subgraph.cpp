// SPDX-License-Identifier: Apache-2.0
// A subgraph with a state of its own: two functions map the parent's state to it and back.
#include <superstep/superstep.hpp>

#include <iostream>
#include <string>

namespace ss = superstep;

struct article {
  std::string text{};
  std::string summary{};
};
BOOST_DESCRIBE_STRUCT(article, (), (text, summary))

struct summary {
  std::string source{};
  std::string result{};
};
BOOST_DESCRIBE_STRUCT(summary, (), (source, result))

int main() {
  auto shorten = ss::graph<summary>{};
  shorten.edge(ss::start, "cut").add("cut", [](const summary& s) {
    return ss::set<&summary::result>(s.source.substr(0, s.source.find(' ')));
  });

  auto g = ss::graph<article>{};
  g.edge(ss::start, "summary");
  g.add(
      "summary", shorten.compile(), [](const article& a) { return summary{.source = a.text}; },
      [](const summary& s) { return ss::set<&article::summary>(s.result); });

  auto engine = ss::engine{};
  auto done = engine.invoke(g.compile(), article{.text = "Rome is old."});
  std::cout << done.state.summary << '\n';
}

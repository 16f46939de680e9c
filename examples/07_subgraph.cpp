// SPDX-License-Identifier: Apache-2.0
// A graph as a node of another graph. The inner graph has its own state: one function maps the
// parent's state to its input, the other maps its result to an update of the parent.
#include <superstep/superstep.hpp>

#include <iostream>
#include <string>

namespace ss = superstep;

struct article {
  std::string text{};
  std::string headline{};
};
BOOST_DESCRIBE_STRUCT(article, (), (text, headline))

struct shortening {
  std::string source{};
  std::string result{};
};
BOOST_DESCRIBE_STRUCT(shortening, (), (source, result))

ss::update<shortening> first_sentence(const shortening& s) {
  return ss::set<&shortening::result>(s.source.substr(0, s.source.find('.')));
}

ss::update<shortening> add_mark(const shortening& s) {
  return ss::set<&shortening::result>(s.result + '!');
}

int main() {
  auto child = ss::graph<shortening>{};
  child.add("cut", first_sentence).add("mark", add_mark);
  child.sequence({ss::start, "cut", "mark", ss::end});

  auto parent = ss::graph<article>{};
  parent.add(
      "headline", child.compile(), [](const article& a) { return shortening{.source = a.text}; },
      [](const shortening& s) { return ss::set<&article::headline>(s.result); });
  parent.edge(ss::start, "headline");

  auto engine = ss::engine{};
  auto done = engine.invoke(parent.compile(), article{.text = "Rome is old. It is large, too."});
  std::cout << done.state.headline << '\n';
}

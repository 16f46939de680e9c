// SPDX-License-Identifier: Apache-2.0
// Map-reduce: a Send for each line starts a task of its own, and a reducer adds up the results.
#include <superstep/superstep.hpp>

#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace ss = superstep;

struct document {
  std::vector<std::string> lines{};
  int words = 0;
  using reducers = ss::reducers<ss::by<&document::words, std::plus<>>>; // adds up the writes
};
BOOST_DESCRIBE_STRUCT(document, (), (lines, words))

constexpr auto count = ss::node<std::string>{"count"}; // its input is one line, not the state

ss::update<document> count_words(const std::string& line) {
  auto in = std::istringstream{line};
  auto words = 0;
  for (auto word = std::string{}; in >> word;)
    ++words;
  return ss::set<&document::words>(words);
}

int main() {
  auto g = ss::graph<document>{};
  g.branch(ss::start, [](const document& d) { return ss::send_each(count, d.lines); }, {count});
  g.add(count, count_words);
  auto graph = g.compile();

  auto engine = ss::engine{};
  auto input = document{.lines = {"the quick brown fox", "jumps over", "the lazy dog"}};
  std::cout << engine.invoke(graph, input).state.words << " words\n";
}

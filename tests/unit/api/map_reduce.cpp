// SPDX-License-Identifier: Apache-2.0
// Map-reduce: one Send for each line, and a reducer that adds up what the tasks write.
#include <superstep/superstep.hpp>

#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace ss = superstep;

struct document {
  std::vector<std::string> lines;
  int words = 0;
  using reducers = ss::reducers<ss::by<&document::words, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(document, (), (lines, words))

constexpr auto count = ss::node<std::string>{"count"}; // a node that receives one line

int words_in(const std::string& line) {
  auto in = std::istringstream{line};
  auto words = 0;
  for (auto word = std::string{}; in >> word;)
    ++words;
  return words;
}

int main() {
  auto g = ss::graph<document>{};
  g.branch(ss::start, [](const document& d) { return ss::send_each(count, d.lines); }, {count});
  g.add(count, [](const std::string& line) { return ss::set<&document::words>(words_in(line)); });
  auto engine = ss::engine{};
  auto input = document{.lines = {"the quick brown fox", "jumps over", "the lazy dog"}};
  std::cout << engine.invoke(g.compile(), input).state.words << '\n';
}

// SPDX-License-Identifier: Apache-2.0
// Map-reduce: one Send per chunk of text, a task each, all in parallel; their counts are merged by
// the reducer of the state in the order of the Sends, whichever ends first.
#include <superstep/actors/engine.hpp>

#include <boost/describe/class.hpp>

#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace ss = superstep;

using counts = std::map<std::string, int>;

struct merge_counts {
  void operator()(counts& into, counts&& more) const {
    for (const auto& [word, n] : more)
      into[word] += n;
  }
};

struct word_count {
  std::vector<std::string> chunks{};
  counts words{};
  using reducers = ss::reducers<ss::by<&word_count::words, merge_counts>>;
};
BOOST_DESCRIBE_STRUCT(word_count, (), (chunks, words))

constexpr auto count_chunk = ss::node<std::string>{"count_chunk"}; // fed by Sends

ss::update<word_count> count_words(const std::string& chunk) {
  auto found = counts{};
  auto in = std::istringstream{chunk};
  for (auto word = std::string{}; in >> word;)
    ++found[word];
  return ss::set<&word_count::words>(std::move(found));
}

int main() {
  auto g = ss::graph<word_count>{};
  g.branch(ss::start, [](const word_count& s) { return ss::send_each(count_chunk, s.chunks); },
           {count_chunk});
  g.add(count_chunk, count_words);

  auto input =
      word_count{.chunks = {"the quick brown fox", "jumps over the lazy dog", "the dog sleeps"}};
  auto engine = ss::engine{};
  const auto done = engine.invoke(g.compile({.name = "word_count"}), std::move(input));
  for (const auto& [word, n] : done.state.words)
    std::cout << n << ' ' << word << '\n';
}

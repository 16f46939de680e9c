// SPDX-License-Identifier: Apache-2.0
// Finds the word that a user meant, for misspelled options, verbs and keys.
#include "base/similar_word.hpp"

#include <algorithm>

namespace superstep {

std::size_t edit_distance(std::string_view from, std::string_view to) {
  auto row = std::vector<std::size_t>(to.size() + 1);
  for (auto j = std::size_t{0}; j <= to.size(); ++j)
    row[j] = j;
  for (auto i = std::size_t{0}; i < from.size(); ++i) {
    auto diagonal = row[0]++;
    for (auto j = std::size_t{0}; j < to.size(); ++j) {
      const auto replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::optional<std::string> similar_word(std::string_view word,
                                        const std::vector<std::string>& known) {
  const auto is_meant = [word](const std::string& other) {
    return word.find_first_not_of('-') != std::string_view::npos &&
           (other.starts_with(word) || std::ranges::is_permutation(word, other));
  };
  if (const auto meant = std::ranges::find_if(known, is_meant); meant != known.end())
    return *meant;
  const auto nearest = std::ranges::min_element(
      known, {}, [word](const std::string& other) { return edit_distance(word, other); });
  const auto letters = std::count_if(word.begin(), word.end(), [](char c) { return c != '-'; });
  if (nearest == known.end() || edit_distance(word, *nearest) > (letters < 5 ? 1U : 2U))
    return std::nullopt;
  return *nearest;
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/checkpoint/store.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

// What a search by meaning is made of: texts at places of a value, and how near two vectors are.
namespace superstep::detail {

/// The texts at a place; see memory_store_options::fields. Lists, objects and `$` are JSON text,
/// null is none, what does not exist is none.
[[nodiscard]] std::vector<std::string> texts_at(const json::value& value, std::string_view place);

/// 1 for the same direction, 0 when one of them has none.
[[nodiscard]] double cosine(const std::vector<float>& a, const std::vector<float>& b);

using vectors = std::vector<std::vector<float>>;

/// Throws std::invalid_argument when the embedding does not give a vector for each text.
[[nodiscard]] vectors embedded(const embedding& embed, const std::vector<std::string>& texts);
/// Of the texts that a value is searched by; empty: it is not.
[[nodiscard]] vectors meaning_of(const embedding& embed, const std::vector<std::string>& fields,
                                 const json::object& value, const store_put_options& put);
/// Of the vector that is nearest; nothing: there is none.
[[nodiscard]] std::optional<double> score_of(const std::vector<float>& wanted,
                                             const vectors& meaning);

/// The page of a search by meaning: what has a score, nearest first, then, where fewer than the
/// limit are left of these, what has none.
template <class Found>
std::vector<Found> nearest(std::vector<Found> all, const store_query& query) {
  const auto rest =
      std::stable_partition(all.begin(), all.end(), [](const auto& f) { return f.score; });
  std::stable_sort(all.begin(), rest,
                   [](const auto& a, const auto& b) { return *a.score > *b.score; });
  const auto scored = static_cast<std::size_t>(rest - all.begin());
  auto out = std::vector<Found>{};
  for (auto i = query.offset; i < scored && out.size() < query.limit; ++i)
    out.push_back(std::move(all[i]));
  for (auto i = scored; i < all.size() && out.size() < query.limit; ++i)
    out.push_back(std::move(all[i]));
  return out;
}

} // namespace superstep::detail

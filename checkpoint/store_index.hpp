// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/checkpoint/store.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

// Similarity search for memory_store and sqlite_store. It extracts the texts to embed from an
// item's value, and ranks items by the similarity of their vectors.
namespace superstep::detail {

/// Returns the texts at a path; memory_store_options::fields describes the syntax. A value that is
/// not a text is returned as canonical JSON text, and so is the whole value for the path `$` or an
/// empty path. A null or missing field has no text.
[[nodiscard]] std::vector<std::string> texts_at(const json::value& value, std::string_view place);

/// Returns the cosine similarity of two vectors, from -1 to 1. Returns 0 if all numbers of a vector
/// are 0.
[[nodiscard]] double cosine(const std::vector<float>& a, const std::vector<float>& b);

/// The embedding vectors of an item, one for each indexed text.
using vectors = std::vector<std::vector<float>>;

/// Calls the embedding for a list of texts.
/// @throws std::invalid_argument if it does not return one vector per text
[[nodiscard]] vectors embedded(const embedding& embed, const std::vector<std::string>& texts);
/// Returns the vectors of the indexed texts of a value; empty if the value is not indexed.
[[nodiscard]] vectors embed_item(const embedding& embed, const std::vector<std::string>& fields,
                                 const json::object& value, const store_put_options& put);
/// Returns the similarity of the vector in `meaning` that is nearest to `wanted`; nullopt if
/// `meaning` is empty.
[[nodiscard]] std::optional<double> score_of(const std::vector<float>& wanted,
                                             const vectors& meaning);

/// Returns the query's page of a similarity search: first items with a score, the nearest first. If
/// fewer of them are left than the limit, items without a score follow; the offset does not apply
/// to them.
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

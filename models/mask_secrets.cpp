// SPDX-License-Identifier: Apache-2.0
// Masks secrets in recorded streams. A secret may be split over several pieces, so the texts with
// the same path in all pieces are searched as one text.
#include "models/mask_secrets.hpp"

#include "models/http/faults.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

namespace superstep::models {

namespace {

/// The texts of all pieces, keyed by their path inside a piece.
using texts_by_place = std::map<std::string, std::vector<json::string*>>;

/// A range of bytes in the concatenated text.
struct span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Collects the texts in `from`. The recursion is bounded, because parse_json() limits the depth.
void collect(json::value& from, std::string& place, texts_by_place& into) {
  const auto length = place.size();
  if (auto* text = from.if_string()) {
    into[place].push_back(text);
  } else if (auto* list = from.if_array()) {
    // List elements with the same `index` continue each other, even at different positions of the
    // list.
    for (auto i = std::size_t{0}; i < list->size(); ++i) {
      auto& element = (*list)[i];
      const auto* object = element.if_object();
      const auto* index = object ? object->if_contains("index") : nullptr;
      place += index ? "/index " + to_text(*index) : '/' + std::to_string(i);
      collect(element, place, into);
      place.resize(length);
    }
  } else if (auto* object = from.if_object()) {
    for (auto& [key, value] : *object) {
      (place += '/') += std::string_view{key.data(), key.size()};
      collect(value, place, into);
      place.resize(length);
    }
  }
}

/// Returns the ranges that secrets occupy in a text, in order. Adjacent and overlapping ranges are
/// joined.
std::vector<span> find_all(std::string_view text, const std::vector<std::string>& secrets) {
  auto found = std::vector<span>{};
  for (const auto& secret : secrets) {
    if (secret.size() < secret_bytes_min)
      continue;
    for (auto at = text.find(secret); at != std::string_view::npos;
         at = text.find(secret, at + secret.size()))
      found.push_back({at, at + secret.size()});
  }
  std::ranges::sort(found, {}, &span::begin);
  auto out = std::vector<span>{};
  for (const auto& one : found)
    if (out.empty() || one.begin > out.back().end)
      out.push_back(one);
    else
      out.back().end = std::max(out.back().end, one.end);
  return out;
}

/// Masks secrets in the concatenation of `texts`, and divides the result among the texts.
void mask(const std::vector<json::string*>& texts, const std::vector<std::string>& secrets) {
  auto all = std::string{};
  for (const auto* text : texts)
    all += std::string_view{*text};
  const auto hidden = find_all(all, secrets);
  auto next = hidden.begin(); // the first range that does not end before `begin`
  auto begin = std::size_t{0};
  for (auto* text : texts) {
    const auto end = begin + text->size();
    auto shown = std::string{};
    auto at = begin;
    for (; next != hidden.end() && next->begin < end; ++next) {
      if (next->begin >= at) {
        shown.append(all, at, next->begin - at);
        shown += "***";
      }
      at = std::min(next->end, end);
      if (next->end > end)
        break; // the secret continues in the next text
    }
    shown.append(all, at, end - at);
    if (shown != std::string_view{*text})
      *text = shown;
    begin = end;
  }
}

} // namespace

void mask_secrets(const std::vector<json::value*>& pieces,
                  const std::vector<std::string>& secrets) {
  const auto is_long = [](const auto& secret) { return secret.size() >= secret_bytes_min; };
  if (std::ranges::none_of(secrets, is_long))
    return;
  auto texts = texts_by_place{};
  auto place = std::string{};
  for (auto* piece : pieces)
    collect(*piece, place, texts);
  for (const auto& [_, list] : texts)
    mask(list, secrets);
}

} // namespace superstep::models

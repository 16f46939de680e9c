// SPDX-License-Identifier: Apache-2.0
// Extracts texts from an item by path, and computes similarities of vectors. Paths have the syntax
// of LangGraph 1.2.22 (langgraph/store/base/embed.py, get_text_at_path).
#include "store_index.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <stdexcept>

namespace superstep::detail {

namespace {

/// Splits a path into steps. For example, `a.b[0].{x,y}` has the steps `a`, `b`, `[0]` and `{x,y}`.
std::vector<std::string_view> steps_of(std::string_view place) {
  auto out = std::vector<std::string_view>{};
  while (!place.empty()) {
    if (place.front() == '.') {
      place.remove_prefix(1);
      continue;
    }
    const auto close = place.front() == '[' ? ']' : place.front() == '{' ? '}' : '\0';
    auto end = close != '\0' ? place.find(close) : place.find_first_of(".[{");
    if (close != '\0') {
      if (end == place.npos)
        throw std::invalid_argument{"an index path has an unclosed bracket; add ] or } to " +
                                    std::string{place}};
      ++end;
    }
    out.push_back(place.substr(0, end));
    place.remove_prefix(std::min(end, place.size()));
  }
  return out;
}

using steps = std::vector<std::string_view>;

void collect(std::vector<std::string>& out, const json::value& at, const steps& path,
             std::size_t i);

/// Handles the step `[n]` or `[*]`: continues with one item of a list or with all items. Negative
/// indices count from the end, as in Python. An index that is out of range or not a
/// number selects nothing.
void collect_item(std::vector<std::string>& out, const json::array& list, const steps& path,
                  std::size_t i) {
  const auto index = path[i].substr(1, path[i].size() - 2);
  if (index == "*") {
    for (const auto& item : list)
      collect(out, item, path, i + 1);
    return;
  }
  auto number = std::ptrdiff_t{0};
  const auto* const end = index.data() + index.size();
  const auto read = std::from_chars(index.data(), end, number);
  const auto size = static_cast<std::ptrdiff_t>(list.size());
  if (number < 0)
    number += size;
  if (read.ec == std::errc{} && read.ptr == end && number >= 0 && number < size)
    collect(out, list[static_cast<std::size_t>(number)], path, i + 1);
}

/// Handles the step `*`: continues with each item of a list, or with each member of an object.
void collect_members(std::vector<std::string>& out, const json::value& at, const steps& path,
                     std::size_t i) {
  if (const auto* list = at.if_array())
    for (const auto& item : *list)
      collect(out, item, path, i + 1);
  else if (const auto* members = at.if_object())
    for (const auto& member : *members)
      collect(out, member.value(), path, i + 1);
}

/// Handles the step `{a,b}`: continues with each of the comma-separated paths.
void collect_several(std::vector<std::string>& out, const json::value& at, const steps& path,
                     std::size_t i) {
  auto names = path[i].substr(1, path[i].size() - 2);
  while (!names.empty()) {
    const auto comma = std::min(names.find(','), names.size());
    auto name = names.substr(0, comma);
    names.remove_prefix(std::min(comma + 1, names.size()));
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    name = name.substr(0, name.find_last_not_of(' ') + 1);
    auto inner = steps_of(name);
    inner.insert(inner.end(), path.begin() + static_cast<std::ptrdiff_t>(i) + 1, path.end());
    collect(out, at, inner, 0);
  }
}

// Follows the path from step `i` and appends the texts at its end. The recursion is only as deep as
// the path is long, whatever the depth of the value.
void collect(std::vector<std::string>& out, const json::value& at, const steps& path,
             std::size_t i) {
  if (i == path.size()) {
    if (const auto* text = at.if_string())
      out.emplace_back(std::string_view{*text});
    else if (!at.is_null())
      out.push_back(to_canonical_text(at));
  } else if (path[i] == "*") {
    collect_members(out, at, path, i);
  } else if (path[i].front() == '{') {
    collect_several(out, at, path, i);
  } else if (path[i].front() == '[') {
    if (const auto* list = at.if_array())
      collect_item(out, *list, path, i);
  } else if (const auto* members = at.if_object()) {
    if (const auto* found = members->if_contains(path[i]))
      collect(out, *found, path, i + 1);
  }
}

} // namespace

std::vector<std::string> texts_at(const json::value& value, std::string_view place) {
  if (place.empty() || place == "$")
    return {to_canonical_text(value)};
  auto out = std::vector<std::string>{};
  collect(out, value, steps_of(place), 0);
  return out;
}

vectors embedded(const embedding& embed, const std::vector<std::string>& texts) {
  if (texts.empty())
    return {};
  auto out = embed(texts);
  if (out.size() != texts.size())
    throw std::invalid_argument{"the embedding returned " + std::to_string(out.size()) +
                                " vectors for " + std::to_string(texts.size()) +
                                " texts; it must return one vector per text"};
  return out;
}

vectors embed_item(const embedding& embed, const std::vector<std::string>& fields,
                   const json::object& value, const store_put_options& put) {
  auto texts = std::vector<std::string>{};
  if (embed)
    for (const auto& place : put.index ? *put.index : fields)
      std::ranges::move(texts_at(json::value(value), place), std::back_inserter(texts));
  return embedded(embed, texts);
}

std::optional<double> score_of(const std::vector<float>& wanted, const vectors& meaning) {
  auto out = std::optional<double>{};
  for (const auto& v : meaning)
    out = std::max(out.value_or(-1.0), cosine(wanted, v));
  return out;
}

/// Adds up in double precision, because vectors may have thousands of floats.
double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  auto product = 0.0;
  auto of_a = 0.0;
  auto of_b = 0.0;
  for (auto i = std::size_t{0}; i < std::min(a.size(), b.size()); ++i) {
    const auto x = static_cast<double>(a[i]);
    const auto y = static_cast<double>(b[i]);
    product += x * y;
    of_a += x * x;
    of_b += y * y;
  }
  return of_a == 0 || of_b == 0 ? 0.0 : product / (std::sqrt(of_a) * std::sqrt(of_b));
}

} // namespace superstep::detail

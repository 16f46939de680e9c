// SPDX-License-Identifier: Apache-2.0
// Decides which patterns of patternProperties are ignored. superstep matches patterns in linear
// time, but a schema must have the same meaning as in the AI SDK middleware.
#include "models/pattern_risk.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace superstep::schema {

namespace {

constexpr auto npos = std::string_view::npos;

/// Returns the position after the quantifier that begins at `at`; `at` itself if there is none.
std::size_t skip_quantifier(std::string_view pattern, std::size_t at) {
  if (at >= pattern.size())
    return at;
  if (std::string_view{"*+?"}.find(pattern[at]) != npos)
    return at + 1;
  if (pattern[at] != '{')
    return at;
  const auto end = pattern.find_first_not_of(",0123456789", at + 1);
  return end != npos && pattern[end] == '}' ? end + 1 : at;
}

/// Returns the position after the `]` of the class that begins at `at`; nullopt without a `]`.
std::optional<std::size_t> skip_class(std::string_view pattern, std::size_t at) {
  for (auto i = at + 1; i < pattern.size(); ++i)
    if (pattern[i] == '\\')
      ++i;
    else if (pattern[i] == ']')
      return i + 1;
  return {};
}

/// Returns the position after the parenthesis at `at` and the `?:`, `?=`, `?!`, `?<=`, `?<!` or
/// `?<name>` behind it.
std::size_t skip_group_mark(std::string_view pattern, std::size_t at) {
  const auto rest = pattern.substr(at + 1);
  for (const auto* mark : {"?:", "?=", "?!"})
    if (rest.starts_with(mark))
      return at + 3;
  if (rest.starts_with("?<=") || rest.starts_with("?<!"))
    return at + 4;
  const auto end = rest.starts_with("?<") ? rest.find('>') : npos;
  return end == npos ? at + 1 : at + 1 + end + 1;
}

bool has_back_reference(std::string_view pattern) {
  for (auto i = pattern.find('\\'); i != npos; i = pattern.find('\\', i + 1)) {
    const auto rest = pattern.substr(i + 1);
    if (rest.starts_with("k<") || (!rest.empty() && rest.front() >= '1' && rest.front() <= '9'))
      return true;
  }
  return false;
}

/// Whether a group with a repetition or alternatives inside is repeated, as in `(a+)+`.
bool repeats_risky_group(std::string_view pattern) {
  auto groups = std::vector<bool>{}; // for each open group: whether it must not be repeated
  const auto mark = [&] {
    if (!groups.empty())
      groups.back() = true;
  };
  for (auto i = std::size_t{0}; i < pattern.size();) {
    const auto c = pattern[i];
    if (c == '\\') {
      i += 2;
    } else if (c == '[') {
      i = skip_class(pattern, i).value_or(pattern.size());
    } else if (c == '(') {
      groups.push_back(false);
      i = skip_group_mark(pattern, i);
    } else if (c == ')' && !groups.empty()) {
      const auto is_risky = groups.back();
      groups.pop_back();
      const auto end = skip_quantifier(pattern, i + 1);
      if (end > i + 1) {
        if (is_risky)
          return true;
        mark();
      }
      i = end;
    } else if (const auto end = skip_quantifier(pattern, i); end > i) {
      mark();
      i = end;
    } else {
      if (c == '|')
        mark();
      ++i;
    }
  }
  return false;
}

/// Returns the position after the group that begins at `at`; nullopt if the group has no end.
std::optional<std::size_t> skip_group(std::string_view pattern, std::size_t at) {
  auto depth = 0;
  for (auto i = at; i < pattern.size();) {
    const auto c = pattern[i];
    if (c == '[') {
      const auto end = skip_class(pattern, i);
      if (!end)
        return {};
      i = *end;
      continue;
    }
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    i += c == '\\' ? 2 : 1;
    if (depth == 0)
      return i;
  }
  return {};
}

bool is_atom(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view{"._$-"}.find(c) != npos;
}

/// Whether the same character or class is repeated twice in succession, as in `a+a+`.
bool repeats_atom_twice(std::string_view pattern) {
  auto before = std::string_view{}; // the repeated atom before `i`
  for (auto i = std::size_t{0}; i < pattern.size();) {
    const auto c = pattern[i];
    auto end = i + 1;
    if (c == '(') {
      const auto group_end = skip_group(pattern, i);
      if (!group_end)
        return false;
      end = skip_quantifier(pattern, *group_end);
    } else if (c == '[') {
      const auto class_end = skip_class(pattern, i);
      if (!class_end)
        return false;
      end = *class_end;
    } else if (c == '\\') {
      end = std::min(i + 2, pattern.size());
    }
    const auto atom = pattern.substr(i, end - i);
    i = end;
    if (c == '(' || (c != '[' && c != '\\' && !is_atom(c))) {
      before = {};
      continue;
    }
    i = skip_quantifier(pattern, end);
    if (i == end) {
      before = {};
      continue;
    }
    if (atom == before)
      return true;
    before = atom;
  }
  return false;
}

} // namespace

bool is_risky_pattern(std::string_view pattern) {
  constexpr auto pattern_max = std::ptrdiff_t{128};
  const auto size = std::ranges::count_if(pattern, [](char c) { return (c & '\xc0') != '\x80'; });
  return size > pattern_max || has_back_reference(pattern) || repeats_risky_group(pattern) ||
         repeats_atom_twice(pattern);
}

} // namespace superstep::schema

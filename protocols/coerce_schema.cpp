// SPDX-License-Identifier: Apache-2.0
#include "protocols/coerce_schema.hpp"

#include "protocols/coerce_text.hpp"

#include <re2/re2.h>

#include <array>
#include <string>
#include <utility>

namespace superstep::schema {

namespace {

constexpr auto names = std::array<std::pair<std::string_view, kind>, 7>{{{"object", kind::object},
                                                                         {"array", kind::array},
                                                                         {"boolean", kind::boolean},
                                                                         {"number", kind::number},
                                                                         {"integer", kind::integer},
                                                                         {"string", kind::string},
                                                                         {"null", kind::null}}};

bool lists(const json::array& types, std::string_view name) noexcept {
  for (const auto& t : types)
    if (t.is_string() && text::view(t.get_string()) == name)
      return true;
  return false;
}

/// `(a+)+`, `a+b*` and `\1`: repetition inside or next to repetition, and references back.
bool is_risky(std::string_view pattern) {
  constexpr auto pattern_max = std::size_t{128};
  if (pattern.size() > pattern_max)
    return true;
  auto repeated = std::vector<bool>{false}; // per open group: holds a repetition
  auto after_repetition = false;
  for (auto i = std::size_t{0}; i < pattern.size(); ++i) {
    const auto c = pattern[i];
    const auto repeats = i + 1 < pattern.size() &&
                         (pattern[i + 1] == '*' || pattern[i + 1] == '+' || pattern[i + 1] == '{');
    if (c == '(') {
      repeated.push_back(false);
      after_repetition = false;
      continue;
    }
    auto group = false;
    if (c == ')' && repeated.size() > 1) {
      group = repeated.back();
      repeated.pop_back();
    } else if (c == '\\' && i + 1 < pattern.size()) {
      if (pattern[i + 1] >= '1' && pattern[i + 1] <= '9')
        return true;
      ++i;
    } else if (c == '[') {
      const auto end = pattern.find(']', i + 2);
      i = end == pattern.npos ? pattern.size() - 1 : end;
    } else if (c == '*' || c == '+' || c == '?') {
      continue;
    } else if (c == '{') {
      const auto end = pattern.find('}', i);
      i = end == pattern.npos ? pattern.size() - 1 : end;
      continue;
    }
    const auto next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == '*' || next == '+' || next == '{' || repeats) {
      if (group || after_repetition)
        return true;
      repeated.back() = true;
      after_repetition = true;
    } else {
      after_repetition = false;
      if (group)
        repeated.back() = true;
    }
  }
  return false;
}

} // namespace

const json::value* member(const json::value& schema, std::string_view name) noexcept {
  const auto* o = schema.if_object();
  return o ? o->if_contains(name) : nullptr;
}

const json::value& unwrap(const json::value& schema) noexcept {
  const auto* inner = member(schema, "jsonSchema");
  return inner ? *inner : schema;
}

kind kind_of(const json::value& schema) noexcept {
  if (const auto* type = member(schema, "type")) {
    for (const auto& [name, k] : names) {
      if (type->is_string() && text::view(type->get_string()) == name)
        return k;
      if (type->is_array() && k != kind::null && lists(type->get_array(), name))
        return k;
    }
    if (type->is_string())
      return kind::other;
  }
  if (member(schema, "properties") || member(schema, "additionalProperties"))
    return kind::object;
  if (member(schema, "items") || member(schema, "prefixItems"))
    return kind::array;
  return kind::none;
}

bool allows_null(const json::value& schema) noexcept {
  const auto* type = member(schema, "type");
  if (type == nullptr)
    return false;
  if (const auto* list = type->if_array())
    return lists(*list, "null");
  return type->is_string() && text::view(type->get_string()) == "null";
}

bool is_closed(const json::value& schema) noexcept {
  const auto* more = member(schema, "additionalProperties");
  return more && more->is_bool() && !more->get_bool();
}

const json::object* properties(const json::value& schema) noexcept {
  const auto* p = member(schema, "properties");
  return p ? p->if_object() : nullptr;
}

bool is_scalar(kind k) noexcept {
  return k == kind::boolean || k == kind::number || k == kind::integer || k == kind::string;
}

std::vector<const json::value*> pattern_schemas(const json::value& schema, std::string_view key) {
  auto found = std::vector<const json::value*>{};
  const auto* patterns = member(schema, "patternProperties");
  if (patterns == nullptr || !patterns->is_object())
    return found;
  for (const auto& entry : patterns->get_object()) {
    const auto pattern = text::view(entry.key());
    if (is_risky(pattern))
      continue;
    auto options = re2::RE2::Options{};
    options.set_log_errors(false);
    const auto regex = re2::RE2{re2::StringPiece{pattern.data(), pattern.size()}, options};
    if (regex.ok() && re2::RE2::PartialMatch(re2::StringPiece{key.data(), key.size()}, regex))
      found.push_back(&entry.value());
  }
  return found;
}

} // namespace superstep::schema

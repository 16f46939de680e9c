// SPDX-License-Identifier: Apache-2.0
// Parses the shapes of JSON channels, which describe the values that a channel may have, and
// compares values with them. json_graph.cpp assigns shapes to channels; json_layout.cpp checks what
// nodes read.
#include "base/visible_text.hpp"

#include <superstep/runtime/json_graph.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace superstep {

namespace {

/// The names of the kinds, in the order of json_shape::kind. `articles` contains their descriptions
/// in error texts.
constexpr auto words = std::array<std::string_view, 8>{"any",    "null",   "boolean", "integer",
                                                       "number", "string", "list",    "object"};
constexpr auto articles =
    std::array<std::string_view, 8>{"anything", "null",     "true or false", "an integer",
                                    "a number", "a string", "a list",        "an object"};

error unknown_shape(const std::string& path, const std::string& what) {
  return {errc::invalid_argument, path + ": " + what};
}

} // namespace

result<json_shape> json_shape::parse(const json::value& written) {
  return parse(written, "$", 0);
}

result<json_shape> json_shape::parse_word(std::string word, const std::string& path) {
  auto out = json_shape{};
  if (word.ends_with('?')) {
    out.may_be_null_ = true;
    word.pop_back();
  }
  const auto found = std::ranges::find(words, word);
  if (found == words.end())
    return unknown_shape(path, "'" + word +
                                   "' is not a type; the types are any, null, boolean, integer, "
                                   "number, string, list, object");
  out.kind_ = static_cast<kind>(found - words.begin());
  return out;
}

result<json_shape> json_shape::parse(const json::value& written, const std::string& path,
                                     int depth) {
  if (depth >= depth_max)
    return unknown_shape(path, "the shape has more than " + std::to_string(depth_max) + " levels");
  if (written.is_string())
    return parse_word(std::string{written.get_string()}, path);
  auto out = json_shape{};
  if (written.is_array()) {
    if (written.get_array().size() != 1)
      return unknown_shape(path, "a list shape must contain one shape, that of its items");
    out.kind_ = kind::list;
    auto item = parse(written.get_array().front(), path + "[]", depth + 1);
    if (!item)
      return item.error();
    out.items_.push_back(std::move(*item));
    return out;
  }
  if (!written.is_object())
    return unknown_shape(path,
                         "a shape must be a string, a list of one shape, or an object of shapes");
  out.kind_ = kind::object;
  for (const auto& [name, shape] : written.get_object()) {
    auto member = parse(shape, path + '.' + std::string{name}, depth + 1);
    if (!member)
      return member.error();
    out.members_.emplace_back(name, std::move(*member));
  }
  return out;
}

bool json_shape::is_kind(const json::value& v) const noexcept {
  switch (kind_) {
  case kind::any:
    return true;
  case kind::null:
    return v.is_null();
  case kind::boolean:
    return v.is_bool();
  case kind::integer:
    return v.is_int64() || v.is_uint64();
  case kind::number:
    return v.is_number();
  case kind::string:
    return v.is_string();
  case kind::list:
    return v.is_array();
  case kind::object:
    return v.is_object();
  }
  return false;
}

// The depth of the recursion is that of the shape, which is bounded. The value may be deeper.
std::optional<std::string> json_shape::misfit(const json::value& v, const std::string& path) const {
  if (may_be_null_ && v.is_null())
    return std::nullopt;
  constexpr auto shown_max = std::size_t{80};
  if (!is_kind(v))
    return path + " should be " + std::string{articles[static_cast<std::size_t>(kind_)]} +
           (may_be_null_ ? " or null" : "") + ", got " + one_line(to_text(v), shown_max);
  if (!items_.empty()) {
    for (auto i = std::size_t{0}; i < v.get_array().size(); ++i) {
      if (auto wrong =
              items_.front().misfit(v.get_array()[i], path + '[' + std::to_string(i) + ']'))
        return wrong;
    }
  }
  for (const auto& [name, shape] : members_) {
    const auto* member = v.get_object().if_contains(name);
    if (member == nullptr && shape.may_be_null_)
      continue;
    if (member == nullptr)
      return path + '.' + name + " is missing";
    if (auto wrong = shape.misfit(*member, path + '.' + name))
      return wrong;
  }
  return std::nullopt;
}

} // namespace superstep

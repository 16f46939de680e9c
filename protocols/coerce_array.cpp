// SPDX-License-Identifier: Apache-2.0
#include "protocols/coerce_array.hpp"

#include "protocols/coerce_schema.hpp"
#include "protocols/coerce_text.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace superstep {

namespace {

using schema::kind;

bool all_digits(std::string_view key) {
  constexpr auto digits_max = std::size_t{15}; // exact as a double
  return !key.empty() && key.size() <= digits_max && std::ranges::all_of(key, text::is_digit);
}

std::optional<json::array> numbered(const json::object& o) {
  auto members = std::vector<std::pair<long long, const json::value*>>{};
  for (const auto& member : o) {
    const auto key = text::view(member.key());
    if (!all_digits(key))
      return {};
    members.emplace_back(std::stoll(std::string{key}), &member.value());
  }
  std::ranges::stable_sort(members, {}, [](const auto& m) { return m.first; });
  auto items = json::array{};
  for (const auto& [number, value] : members)
    items.push_back(*value);
  return items;
}

/// `{a: [1, 2], b: [3, 4]}` for a list of closed {a, b} objects.
std::optional<json::array> rows(const json::object& o, const json::value& each) {
  const auto* properties = schema::properties(each);
  if (o.size() < 2 || properties == nullptr || !schema::is_closed(each))
    return {};
  auto length = std::size_t{0};
  for (const auto& member : o) {
    const auto* column = member.value().if_array();
    const auto* property = properties->if_contains(member.key());
    if (!column || column->size() < 2 || (length != 0 && column->size() != length) || !property ||
        !schema::is_scalar(schema::kind_of(*property)))
      return {};
    length = column->size();
  }
  auto items = json::array{};
  for (auto row = std::size_t{0}; row < length; ++row) {
    auto& item = items.emplace_back(json::object{}).get_object();
    for (const auto& member : o)
      item.emplace(member.key(), member.value().get_array()[row]);
  }
  return items;
}

bool can_have(const json::value& each, std::string_view key) {
  if (schema::kind_of(each) == kind::object || schema::kind_of(each) == kind::none) {
    const auto* properties = schema::properties(each);
    if (properties && properties->contains(key))
      return true;
    if (!each.is_object() || schema::kind_of(each) == kind::none)
      return false;
    return !schema::is_closed(each) || !schema::pattern_schemas(each, key).empty();
  }
  return false;
}

std::optional<json::array> unwrapped(const json::object& o, const json::value& each) {
  if (o.size() != 1 || !each.is_object() || can_have(each, text::view(o.begin()->key())))
    return {};
  const auto& inner = o.begin()->value();
  if (const auto* list = inner.if_array())
    return *list;
  const auto* item = inner.if_object();
  if (item == nullptr)
    return {};
  if (schema::is_scalar(schema::kind_of(each)) && item->size() == 1 &&
      !item->begin()->value().is_structured())
    return json::array{item->begin()->value()};
  return json::array{inner};
}

} // namespace

std::optional<json::array> items_of(const json::object& o, const json::value& each) {
  if (const auto* item = o.if_contains("item"); item)
    return item->is_array() ? item->get_array() : json::array{*item};
  if (o.empty())
    return {};
  if (auto items = numbered(o))
    return items;
  if (auto items = rows(o, each))
    return items;
  return unwrapped(o, each);
}

} // namespace superstep

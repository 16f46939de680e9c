// SPDX-License-Identifier: Apache-2.0
#include "store_labels.hpp"

#include <superstep/checkpoint/store.hpp>

#include <algorithm>
#include <stdexcept>

namespace superstep {

namespace detail {

void check_labels(const store_namespace& ns) {
  for (const auto& label : ns) {
    if (label.empty())
      throw std::invalid_argument{"Namespace labels cannot be empty strings."};
    if (label.find_first_of(std::string_view{".\0", 2}) != std::string::npos)
      throw std::invalid_argument{"Invalid namespace label '" + label +
                                  "': namespace labels cannot contain periods ('.') or NUL."};
  }
}

void check_target(const store_namespace& ns) {
  if (ns.empty())
    throw std::invalid_argument{"Namespace cannot be empty."};
  check_labels(ns);
}

} // namespace detail

namespace {

constexpr auto filter_depth_max = 32;

bool compare(std::string_view op, const json::value& held, const json::value& wanted) {
  if (op == "$eq")
    return held == wanted;
  if (op == "$ne")
    return held != wanted;
  const auto is_less = op == "$lt" || op == "$lte";
  if (!is_less && op != "$gt" && op != "$gte")
    throw std::invalid_argument{"Unsupported operator: " + std::string{op}};
  if (!held.is_number() || !wanted.is_number())
    return false;
  const auto a = held.to_number<double>();
  const auto b = wanted.to_number<double>();
  if (a == b)
    return op == "$lte" || op == "$gte";
  return is_less == (a < b);
}

bool fits_value(const json::value& wanted, const json::value& held, int depth) {
  if (depth > filter_depth_max)
    throw std::invalid_argument{"a filter nests deeper than 32 objects"};
  if (wanted.is_object()) {
    const auto& members = wanted.get_object();
    if (std::ranges::any_of(members, [](const auto& m) { return m.key().starts_with('$'); }))
      return std::ranges::all_of(members,
                                 [&](const auto& m) { return compare(m.key(), held, m.value()); });
    if (!held.is_object())
      return false;
    return std::ranges::all_of(members, [&](const auto& m) {
      const auto* found = held.get_object().if_contains(m.key());
      return fits_value(m.value(), found == nullptr ? json::value{} : *found, depth + 1);
    });
  }
  if (wanted.is_array()) {
    if (!held.is_array() || held.get_array().size() != wanted.get_array().size())
      return false;
    for (auto i = std::size_t{0}; i < wanted.get_array().size(); ++i)
      if (!fits_value(wanted.get_array()[i], held.get_array()[i], depth + 1))
        return false;
    return true;
  }
  return wanted == held;
}

} // namespace

bool fits(const json::object& filter, const json::object& value) {
  return std::ranges::all_of(filter, [&](const auto& m) {
    const auto* held = value.if_contains(m.key());
    return fits_value(m.value(), held == nullptr ? json::value{} : *held, 0);
  });
}

std::optional<json::object> memory_store::get(const store_namespace& ns, std::string_view key) {
  detail::check_labels(ns);
  const auto lock = std::scoped_lock{mutex_};
  const auto space = items_.find(ns);
  if (space == items_.end())
    return std::nullopt;
  const auto item = space->second.find(key);
  if (item == space->second.end())
    return std::nullopt;
  return item->second;
}

void memory_store::put(const store_namespace& ns, std::string_view key, json::object value) {
  detail::check_target(ns);
  const auto lock = std::scoped_lock{mutex_};
  items_[ns].insert_or_assign(std::string{key}, std::move(value));
}

void memory_store::erase(const store_namespace& ns, std::string_view key) {
  detail::check_labels(ns);
  const auto lock = std::scoped_lock{mutex_};
  const auto space = items_.find(ns);
  if (space == items_.end())
    return;
  if (const auto item = space->second.find(key); item != space->second.end())
    space->second.erase(item);
  if (space->second.empty())
    items_.erase(space);
}

std::vector<store_item> memory_store::search(const store_query& query) {
  detail::check_labels(query.prefix);
  auto out = std::vector<store_item>{};
  auto skipped = std::size_t{0};
  const auto lock = std::scoped_lock{mutex_};
  for (auto space = items_.lower_bound(query.prefix); space != items_.end(); ++space) {
    const auto& ns = space->first;
    if (ns.size() < query.prefix.size() ||
        !std::equal(query.prefix.begin(), query.prefix.end(), ns.begin()))
      break;
    for (const auto& [key, value] : space->second) {
      if (!fits(query.filter, value) || skipped++ < query.offset)
        continue;
      if (out.size() == query.limit)
        return out;
      out.push_back({ns, key, value});
    }
  }
  return out;
}

} // namespace superstep

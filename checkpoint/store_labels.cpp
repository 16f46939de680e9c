// SPDX-License-Identifier: Apache-2.0
// Checks namespaces and items before they are stored, and selects namespaces for listings.
#include "store_labels.hpp"

#include "base/utf8.hpp"
#include "checkpoint_codec.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace superstep::detail {

std::string shown(const store_namespace& ns) {
  return to_text(json::value(json::array(ns.begin(), ns.end())));
}

namespace {

[[noreturn]] void refuse(const store_namespace& ns, const std::string& why) {
  throw std::invalid_argument{"invalid namespace " + shown(ns) + ": " + why};
}

[[noreturn]] void refuse_label(const store_namespace& ns, const std::string& label,
                               const char* why) {
  refuse(ns, "the label " + to_text(json::value(label)) + " contains a " + why);
}

bool matches_label(const std::string& wanted, const std::string& label) {
  return wanted == "*" || wanted == label;
}

/// Whether a namespace starts with the query's prefix and ends with its suffix.
bool matches_ends(const store_namespace& ns, const namespace_query& query) {
  return ns.size() >= query.prefix.size() && ns.size() >= query.suffix.size() &&
         std::equal(query.prefix.begin(), query.prefix.end(), ns.begin(), matches_label) &&
         std::equal(query.suffix.rbegin(), query.suffix.rend(), ns.rbegin(), matches_label);
}

constexpr auto value_depth_max = row_depth_max;

std::string_view why_unreadable(const json::value& v, std::size_t depth);

/// Returns why a stored value could not be read back; empty if it could. The result completes the
/// sentence "Item 'key' …".
std::string_view why_unreadable(const json::object& members, std::size_t depth) {
  if (depth > value_depth_max)
    return "is nested deeper than 1000 lists and objects";
  for (const auto& [key, v] : members) {
    if (!is_utf8(key))
      return "has a field whose name is not UTF-8";
    if (const auto why = why_unreadable(v, depth); !why.empty())
      return why;
  }
  return {};
}

std::string_view why_unreadable(const json::value& v, std::size_t depth) {
  if (const auto* text = v.if_string())
    return is_utf8(*text) ? "" : "contains text that is not UTF-8";
  if (const auto* members = v.if_object())
    return why_unreadable(*members, depth + 1);
  const auto* list = v.if_array();
  if (list == nullptr)
    return {};
  if (depth >= value_depth_max)
    return "is nested deeper than 1000 lists and objects";
  for (const auto& item : *list)
    if (const auto why = why_unreadable(item, depth + 1); !why.empty())
      return why;
  return {};
}

} // namespace

void check_labels(const store_namespace& ns) {
  for (const auto& label : ns) {
    if (label.find('.') != label.npos)
      refuse_label(ns, label, "period");
    if (label.find('\0') != label.npos)
      refuse_label(ns, label, "NUL byte");
    if (label.empty())
      refuse(ns, "a label is empty");
  }
}

void check_writable(const store_namespace& ns) {
  if (ns.empty())
    throw std::invalid_argument{
        "store::put(): the namespace is empty; it needs at least one label"};
  check_labels(ns);
  if (ns.front() == "langgraph")
    refuse(ns, "the first label must not be \"langgraph\"");
}

void check_item(const store_namespace& ns, std::string_view key, const json::object& value,
                std::chrono::milliseconds ttl) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument{
        valid_utf8("Item '" + std::string{key} + "' in " + shown(ns) + ' ' + why)};
  };
  if (ttl.count() < 0)
    refuse("has a negative ttl (" + std::to_string(ttl.count()) + " ms)");
  if (const auto why = why_unreadable(value, 1); !why.empty())
    refuse(std::string{why});
}

/// @pre more is not negative
std::int64_t add_saturated(std::int64_t now, std::int64_t more) noexcept {
  constexpr auto last = std::numeric_limits<std::int64_t>::max();
  return now > 0 && more > last - now ? last : now + more;
}

std::vector<store_namespace> select_namespaces(std::vector<store_namespace> all,
                                               const namespace_query& query) {
  if (query.depth_max == 0U)
    throw std::invalid_argument{"namespace_query::depth_max must be at least 1"};
  std::erase_if(all, [&](const auto& ns) { return !matches_ends(ns, query); });
  // Shorten the namespaces before duplicates are removed: different namespaces may become equal.
  if (query.depth_max)
    for (auto& ns : all)
      ns.resize(std::min(ns.size(), *query.depth_max));
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto from = std::min(query.offset, all.size());
  const auto count = std::min(query.limit, all.size() - from);
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(from);
  return {std::make_move_iterator(first),
          std::make_move_iterator(first + static_cast<std::ptrdiff_t>(count))};
}

} // namespace superstep::detail

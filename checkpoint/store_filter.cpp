// SPDX-License-Identifier: Apache-2.0
// Evaluates the filters of store searches, for memory_store.cpp and row_store.cpp. The semantics
// are those of LangGraph 1.2.22 (langgraph/store/memory), including Python's comparison of numbers.
#include <superstep/checkpoint/store.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <compare>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace superstep {

namespace {

constexpr auto filter_depth_max = 32;

/// Converts a value to a number: a number, a boolean, or a text that is a number. Returns nullopt
/// for any other value.
std::optional<double> number_in(const json::value& v) {
  if (v.is_number())
    return v.to_number<double>();
  if (v.is_bool())
    return v.get_bool() ? 1.0 : 0.0;
  const auto* text = v.if_string();
  if (text == nullptr)
    return std::nullopt;
  auto number = 0.0;
  const auto end = text->data() + text->size();
  const auto read = std::from_chars(text->data(), end, number);
  return read.ec == std::errc{} && read.ptr == end ? std::optional{number} : std::nullopt;
}

bool is_countable(const json::value& v) noexcept {
  return v.is_number() || v.is_bool();
}

/// Converts a boolean to 0 or 1, as Python does.
json::value as_number(const json::value& v) {
  return v.is_bool() ? json::value(v.get_bool() ? 1 : 0) : v;
}

/// Compares two numbers by value. An integer is not converted to double, because that would lose
/// the low bits of large integers. Instead, the double is converted if it is an integer in the
/// range.
bool is_same_number(const json::value& a, const json::value& b) {
  if (a.is_double() == b.is_double())
    return a == b;
  const auto& whole = a.is_double() ? b : a;
  const auto d = a.is_double() ? a.get_double() : b.get_double();
  constexpr auto limit = 18446744073709551616.0; // 2^64
  if (!(d > -limit && d < limit) || d != std::trunc(d))
    return false;
  if (whole.is_uint64())
    return d >= 0 && static_cast<std::uint64_t>(d) == whole.get_uint64();
  constexpr auto half = limit / 2;
  return d >= -half && d < half && static_cast<std::int64_t>(d) == whole.get_int64();
}

/// Compares as Python does: 1, 1.0 and true are equal, also within lists and objects.
bool is_equal(const json::value& a, const json::value& b) {
  if (is_countable(a) && is_countable(b))
    return is_same_number(as_number(a), as_number(b));
  if (a.is_array() && b.is_array())
    return std::ranges::equal(a.get_array(), b.get_array(), is_equal);
  if (!a.is_object() || !b.is_object())
    return a == b;
  const auto& other = b.get_object();
  return a.get_object().size() == other.size() &&
         std::ranges::all_of(a.get_object(), [&](const auto& m) {
           const auto* found = other.if_contains(m.key());
           return found != nullptr && is_equal(m.value(), *found);
         });
}

/// Applies an ordered operator. False for values without an order, such as NaN.
bool is_in_order(std::string_view op, std::partial_ordering held_to_wanted) {
  if (op == "$lt")
    return held_to_wanted < 0;
  if (op == "$lte")
    return held_to_wanted <= 0;
  return op == "$gt" ? held_to_wanted > 0 : held_to_wanted >= 0;
}

bool compare(std::string_view op, const json::value& held, const json::value& wanted,
             non_number otherwise) {
  if (op == "$eq")
    return is_equal(held, wanted);
  if (op == "$ne")
    return !is_equal(held, wanted);
  if (op != "$lt" && op != "$lte" && op != "$gt" && op != "$gte")
    throw std::invalid_argument{"unknown filter operator \"" + std::string{op} +
                                "\"; use $eq, $ne, $gt, $gte, $lt or $lte"};
  if (otherwise == non_number::skip) { // compare values of the same type, like SqliteStore
    if (held.is_string() && wanted.is_string())
      return is_in_order(op, std::string_view{held.get_string()} <=>
                                 std::string_view{wanted.get_string()});
    if (!held.is_number() || !wanted.is_number())
      return false;
  }
  const auto a = number_in(held);
  const auto b = number_in(wanted);
  if (!a || !b)
    throw store_filter_error{"the operator " + std::string{op} + " compares numbers, not " +
                             to_text(a ? wanted : held) +
                             ": exclude such items with a condition on another field"};
  return is_in_order(op, *a <=> *b);
}

bool matches_value(const json::value& wanted, const json::value& held, non_number otherwise,
                   int depth) {
  if (depth > filter_depth_max)
    throw std::invalid_argument{
        "a filter is nested deeper than 32 objects and lists; use fewer levels"};
  if (wanted.is_object()) {
    const auto& members = wanted.get_object();
    if (std::ranges::any_of(members, [](const auto& m) { return m.key().starts_with('$'); }))
      return std::ranges::all_of(
          members, [&](const auto& m) { return compare(m.key(), held, m.value(), otherwise); });
    if (!held.is_object())
      return false;
    return std::ranges::all_of(members, [&](const auto& m) {
      const auto* found = held.get_object().if_contains(m.key());
      return matches_value(m.value(), found == nullptr ? json::value{} : *found, otherwise,
                           depth + 1);
    });
  }
  if (wanted.is_array()) {
    if (!held.is_array() || held.get_array().size() != wanted.get_array().size())
      return false;
    for (auto i = std::size_t{0}; i < wanted.get_array().size(); ++i)
      if (!matches_value(wanted.get_array()[i], held.get_array()[i], otherwise, depth + 1))
        return false;
    return true;
  }
  return is_equal(wanted, held);
}

} // namespace

bool matches(const json::object& filter, const json::object& value, non_number held) {
  return std::ranges::all_of(filter, [&](const auto& m) {
    const auto* found = value.if_contains(m.key());
    return matches_value(m.value(), found == nullptr ? json::value{} : *found, held, 0);
  });
}

} // namespace superstep

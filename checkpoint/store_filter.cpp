// SPDX-License-Identifier: Apache-2.0
#include <superstep/checkpoint/store.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

namespace superstep {

namespace {

constexpr auto filter_depth_max = 32;

/// A number, or a text that is one.
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

bool compare(std::string_view op, const json::value& held, const json::value& wanted,
             no_number otherwise) {
  if (op == "$eq")
    return held == wanted;
  if (op == "$ne")
    return held != wanted;
  const auto is_less = op == "$lt" || op == "$lte";
  if (!is_less && op != "$gt" && op != "$gte")
    throw std::invalid_argument{"Unsupported operator: " + std::string{op}};
  if (otherwise == no_number::is_left_out && (!held.is_number() || !wanted.is_number()))
    return false;
  const auto a = number_in(held);
  const auto b = number_in(wanted);
  if (!a || !b)
    throw store_filter_error{"the operator " + std::string{op} + " compares numbers, not " +
                             to_text(a ? wanted : held) + ": leave such items out by other fields"};
  if (*a == *b)
    return op == "$lte" || op == "$gte";
  return is_less == (*a < *b);
}

bool fits_value(const json::value& wanted, const json::value& held, no_number otherwise,
                int depth) {
  if (depth > filter_depth_max)
    throw std::invalid_argument{"a filter nests deeper than 32 objects"};
  if (wanted.is_object()) {
    const auto& members = wanted.get_object();
    if (std::ranges::any_of(members, [](const auto& m) { return m.key().starts_with('$'); }))
      return std::ranges::all_of(
          members, [&](const auto& m) { return compare(m.key(), held, m.value(), otherwise); });
    if (!held.is_object())
      return false;
    return std::ranges::all_of(members, [&](const auto& m) {
      const auto* found = held.get_object().if_contains(m.key());
      return fits_value(m.value(), found == nullptr ? json::value{} : *found, otherwise, depth + 1);
    });
  }
  if (wanted.is_array()) {
    if (!held.is_array() || held.get_array().size() != wanted.get_array().size())
      return false;
    for (auto i = std::size_t{0}; i < wanted.get_array().size(); ++i)
      if (!fits_value(wanted.get_array()[i], held.get_array()[i], otherwise, depth + 1))
        return false;
    return true;
  }
  return wanted == held;
}

} // namespace

bool fits(const json::object& filter, const json::object& value, no_number held) {
  return std::ranges::all_of(filter, [&](const auto& m) {
    const auto* found = value.if_contains(m.key());
    return fits_value(m.value(), found == nullptr ? json::value{} : *found, held, 0);
  });
}

} // namespace superstep

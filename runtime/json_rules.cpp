// SPDX-License-Identifier: Apache-2.0
// The named reducers of JSON channels: add, max, concat, append, merge. json_graph.cpp looks them
// up by name. The rule append of a channel is in json_append.cpp.
#include "base/visible_text.hpp"
#include "json_layout.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace superstep {

namespace {

bool is_integer(const json::value& v) {
  return v.is_int64() || v.is_uint64();
}

/// Wide enough for each signed and unsigned integer of JSON, and for the sum of two.
__extension__ using wide_integer = __int128;

wide_integer widened(const json::value& v) {
  return v.is_uint64() ? wide_integer{v.get_uint64()} : wide_integer{v.get_int64()};
}

template <class Integer>
bool fits(wide_integer v) {
  return v >= std::numeric_limits<Integer>::min() && v <= std::numeric_limits<Integer>::max();
}

/// Throws unless both values are of the kind that a rule combines.
void require(bool (json::value::*is_kind)() const noexcept, const char* rule, const char* wants,
             const json::value& into, const json::value& more) {
  for (const auto* v : {&into, &more})
    if (!(v->*is_kind)())
      detail::throw_unfit_json(rule, wants, *v);
}

/// Adds numbers. Integers stay integers: if their sum exceeds 64 bits, an error is thrown instead
/// of a rounded result.
void add(json::value& into, json::value&& more) {
  require(&json::value::is_number, "add", "numbers", into, more);
  if (!is_integer(into) || !is_integer(more)) {
    into = into.to_number<double>() + more.to_number<double>();
    return;
  }
  const auto sum = widened(into) + widened(more);
  if (fits<std::int64_t>(sum))
    into = static_cast<std::int64_t>(sum);
  else if (fits<std::uint64_t>(sum))
    into = static_cast<std::uint64_t>(sum);
  else
    throw std::overflow_error{"add: the sum does not fit 64 bits"};
}

void max(json::value& into, json::value&& more) {
  require(&json::value::is_number, "max", "numbers", into, more);
  // Integers are not compared as doubles, because a double has only 53 bits.
  const auto is_larger = is_integer(into) && is_integer(more)
                             ? widened(more) > widened(into)
                             : more.to_number<double>() > into.to_number<double>();
  if (is_larger)
    into = std::move(more);
}

void concat(json::value& into, json::value&& more) {
  require(&json::value::is_string, "concat", "text", into, more);
  into.as_string() += more.as_string();
}

void append(json::value& into, json::value&& more) {
  require(&json::value::is_array, "append", "lists", into, more);
  into.as_array().reserve(into.as_array().size() + more.as_array().size());
  for (auto& item : more.as_array())
    into.as_array().push_back(std::move(item));
}

void merge(json::value& into, json::value&& more) {
  require(&json::value::is_object, "merge", "objects", into, more);
  for (auto& [key, v] : more.as_object())
    into.as_object().insert_or_assign(key, std::move(v));
}

} // namespace

const json_reducer json_reducer::add{superstep::add};
const json_reducer json_reducer::max{superstep::max};
const json_reducer json_reducer::concat{superstep::concat};
const json_reducer json_reducer::append{superstep::append};
const json_reducer json_reducer::merge{superstep::merge};

void detail::throw_unfit_json(const char* rule, const char* wants, const json::value& got) {
  constexpr auto shown_max = std::size_t{80};
  throw std::invalid_argument{std::string{rule} + " expects " + wants + ", got " +
                              one_line(to_text(got), shown_max)};
}

std::optional<detail::json_rule> detail::find_json_rule(std::string_view name) {
  if (name == "add")
    return json_rule{json_reducer::add, 0};
  if (name == "max")
    return json_rule{json_reducer::max, 0};
  if (name == "concat")
    return json_rule{json_reducer::concat, json::value(json::string{})};
  if (name == "merge")
    return json_rule{json_reducer::merge, json::value(json::object{})};
  return std::nullopt;
}

} // namespace superstep

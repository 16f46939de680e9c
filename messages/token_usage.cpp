// SPDX-License-Identifier: Apache-2.0
// Arithmetic and JSON form of token usage.
#include "fault_at.hpp"

#include <superstep/base/error.hpp>
#include <superstep/messages/messages.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace superstep {

namespace {

/// The operation on two counts: sum for add_usage(), difference for subtract_usage().
using operation = std::int64_t (*)(std::int64_t, std::int64_t);

std::int64_t sum(std::int64_t a, std::int64_t b) {
  return a + b;
}

std::int64_t rest(std::int64_t a, std::int64_t b) {
  return std::max(a - b, std::int64_t{0});
}

/// Nesting limit, equal to that of parse_json().
constexpr auto depth_max = 200;

/// Combines two counts or two objects of counts. An absent count is treated as 0.
result<json::value> combined(std::string_view key, const json::value* a, const json::value* b,
                             operation f, int depth);

result<json::object> combined(const json::object& a, const json::object& b, operation f,
                              int depth = 0) {
  if (depth > depth_max)
    return error{errc::too_large,
                 "cannot combine token usages: they are nested more than 200 levels deep"};
  auto out = a;
  for (const auto& member : b)
    out.emplace(member.key(), nullptr);
  for (auto& member : out) {
    auto sum =
        combined(member.key(), a.if_contains(member.key()), b.if_contains(member.key()), f, depth);
    if (!sum)
      return std::move(sum).error();
    member.value() = *std::move(sum);
  }
  return out;
}

result<json::value> combined(std::string_view key, const json::value* a, const json::value* b,
                             operation f, int depth) {
  const auto is_absent = [](const json::value* v) { return v == nullptr || v->is_null(); };
  const auto is = [&](const json::value* v, json::kind kind) {
    return is_absent(v) || v->kind() == kind;
  };
  if (is_absent(a) && is_absent(b))
    return json::value{};
  if (is(a, json::kind::int64) && is(b, json::kind::int64))
    return json::value(f(is_absent(a) ? 0 : a->get_int64(), is_absent(b) ? 0 : b->get_int64()));
  if (!is(a, json::kind::object) || !is(b, json::kind::object))
    return fault_at("usage", "the detail \"" + std::string{key} + "\" must be an integer");
  const auto none = json::object{};
  auto inner = combined(is_absent(a) ? none : a->get_object(),
                        is_absent(b) ? none : b->get_object(), f, depth + 1);
  if (!inner)
    return std::move(inner).error();
  return json::value(*std::move(inner));
}

/// Combines the three counts and the detail objects of two usages.
result<token_usage> combined(const token_usage& a, const token_usage& b, operation f) {
  auto input = combined(a.input_details, b.input_details, f);
  if (!input)
    return std::move(input).error();
  auto output = combined(a.output_details, b.output_details, f);
  if (!output)
    return std::move(output).error();
  auto others = combined(a.others, b.others, f);
  if (!others)
    return std::move(others).error();
  return token_usage{f(a.input_tokens, b.input_tokens),
                     f(a.output_tokens, b.output_tokens),
                     f(a.total_tokens, b.total_tokens),
                     *std::move(input),
                     *std::move(output),
                     *std::move(others)};
}

/// Whether the key is one of the five that token_usage stores separately from `others`.
bool is_known(json::string_view key) {
  for (const auto* name : {"input_tokens", "output_tokens", "total_tokens", "input_token_details",
                           "output_token_details"})
    if (key == name)
      return true;
  return false;
}

} // namespace

result<token_usage> add_usage(const token_usage& a, const token_usage& b) {
  return combined(a, b, sum);
}

result<token_usage> subtract_usage(const token_usage& all, const token_usage& part) {
  return combined(all, part, rest);
}

json::object to_json(const token_usage& u) {
  auto o = json::object{{"input_tokens", u.input_tokens},
                        {"output_tokens", u.output_tokens},
                        {"total_tokens", u.total_tokens}};
  if (!u.input_details.empty())
    o["input_token_details"] = u.input_details;
  if (!u.output_details.empty())
    o["output_token_details"] = u.output_details;
  for (const auto& [key, value] : u.others)
    o.emplace(key, value);
  return o;
}

result<token_usage> usage_from_json(const json::value& value, std::string_view path) {
  const auto* from = value.if_object();
  if (!from)
    return fault_at(path, "must be an object");
  auto usage = token_usage{};
  for (const auto& [key, count] : {std::pair{"input_tokens", &usage.input_tokens},
                                   std::pair{"output_tokens", &usage.output_tokens},
                                   std::pair{"total_tokens", &usage.total_tokens}}) {
    const auto* given = from->if_contains(key);
    if (!given || given->is_null())
      continue;
    if (!given->is_int64())
      return fault_at(std::string{path} + '.' + key, "must be an integer");
    *count = given->get_int64();
  }
  for (const auto& [key, details] : {std::pair{"input_token_details", &usage.input_details},
                                     std::pair{"output_token_details", &usage.output_details}})
    if (const auto* given = from->if_contains(key); given && given->is_object())
      *details = given->get_object();
  for (const auto& [key, other] : *from)
    if (!is_known(key))
      usage.others.emplace(key, other);
  return usage;
}

} // namespace superstep

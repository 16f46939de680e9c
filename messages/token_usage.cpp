// SPDX-License-Identifier: Apache-2.0
#include "fault_at.hpp"

#include <superstep/base/result.hpp>
#include <superstep/messages/token_usage.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace superstep {

namespace {

using operation = std::int64_t (*)(std::int64_t, std::int64_t);

std::int64_t sum(std::int64_t a, std::int64_t b) {
  return a + b;
}

std::int64_t rest(std::int64_t a, std::int64_t b) {
  return std::max(a - b, std::int64_t{0});
}

result<std::int64_t> count_in(const json::object& details, json::string_view key) {
  const auto* value = details.if_contains(key);
  if (!value || value->is_null())
    return 0;
  if (!value->is_int64())
    return fault_at("usage", "the detail \"" + std::string{key} + "\" must be an integer");
  return value->get_int64();
}

result<json::object> combined(const json::object& a, const json::object& b, operation f) {
  auto out = a;
  for (const auto& member : b)
    out.emplace(member.key(), nullptr);
  for (auto& member : out) {
    const auto x = count_in(a, member.key());
    if (!x)
      return x.error();
    const auto y = count_in(b, member.key());
    if (!y)
      return y.error();
    member.value() = f(*x, *y);
  }
  return out;
}

result<token_usage> combined(const token_usage& a, const token_usage& b, operation f) {
  auto input = combined(a.input_details, b.input_details, f);
  if (!input)
    return std::move(input).error();
  auto output = combined(a.output_details, b.output_details, f);
  if (!output)
    return std::move(output).error();
  return token_usage{f(a.input_tokens, b.input_tokens), f(a.output_tokens, b.output_tokens),
                     f(a.total_tokens, b.total_tokens), *std::move(input), *std::move(output)};
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
  return usage;
}

} // namespace superstep

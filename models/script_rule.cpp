// SPDX-License-Identifier: Apache-2.0
// Evaluates rules of scripted models: conditions, substitution of captures, and answer times.
#include "models/script_rule.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

namespace superstep::models {

namespace {

/// Returns the first match at or after `from`. RE2 gets the whole text, because `^` and `\b` depend
/// on the text before `from`.
std::optional<captures> search(const re2::RE2& pattern, std::string_view text, std::size_t from) {
  auto groups = std::array<re2::StringPiece, 10>{};
  const auto count = std::min(pattern.NumberOfCapturingGroups() + 1, 10);
  const auto whole = re2::StringPiece{text.data(), text.size()};
  if (!pattern.Match(whole, from, text.size(), re2::RE2::UNANCHORED, groups.data(), count))
    return std::nullopt;
  auto out = captures{};
  for (auto i = std::size_t{0}; i < static_cast<std::size_t>(count); ++i)
    out[i] = std::string_view{groups[i].data(), groups[i].size()};
  return out;
}

/// Converts an unquoted YAML value as JSON does: keywords and numbers have their type, all else is
/// text.
json::value typed(std::string text) {
  if (text == "true" || text == "false")
    return text == "true";
  if (text.empty() || text == "null" || text == "~")
    return nullptr;
  const auto end = text.data() + text.size();
  auto whole = std::int64_t{0};
  if (const auto read = std::from_chars(text.data(), end, whole);
      read.ec == std::errc{} && read.ptr == end)
    return whole;
  auto real = 0.0;
  if (const auto read = std::from_chars(text.data(), end, real);
      read.ec == std::errc{} && read.ptr == end && std::isfinite(real))
    return real;
  return json::value(text); // json::value{text} would be a list
}

/// Substitutes captures in a value. Unquoted texts are then converted to numbers and keywords.
json::value substitute_value(const script_value& value, const captures& with) {
  if (const auto* text = std::get_if<script_text>(&value.of)) {
    auto filled = substitute(text->text, with);
    return text->is_quoted ? json::value(filled) : typed(std::move(filled));
  }
  if (const auto* map = std::get_if<script_map>(&value.of))
    return substitute(*map, with);
  auto out = json::array{};
  for (const auto& item : std::get<script_list>(value.of))
    out.push_back(substitute_value(item, with));
  return out;
}

} // namespace

std::optional<captures> script_rule::fits(const message& last, std::string_view text,
                                          std::uint32_t number) const {
  if (type && *type != last.type)
    return std::nullopt;
  if (turn && *turn != number)
    return std::nullopt;
  if (tool && (last.type != message_type::tool || last.name != *tool))
    return std::nullopt;
  if (match)
    return search(*match, text, 0);
  auto whole = captures{};
  whole[0] = text;
  return whole;
}

std::string substitute(std::string_view text, const captures& with) {
  // A backslash before a character other than a digit or a backslash is kept.
  auto out = std::string{};
  for (auto i = std::size_t{0}; i < text.size(); ++i) {
    const auto next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    if (next >= '0' && next <= '9')
      out += with[static_cast<std::size_t>(next - '0')];
    else
      out += text[i];
    if (next == '\\' || (next >= '0' && next <= '9'))
      ++i;
  }
  return out;
}

json::object substitute(const script_map& args, const captures& with) {
  auto out = json::object{};
  for (const auto& [name, value] : args)
    out[name] = substitute_value(value, with);
  return out;
}

std::vector<captures> find_all(const re2::RE2& pattern, std::string_view text,
                               std::size_t places_max) {
  auto out = std::vector<captures>{};
  for (auto from = std::size_t{0}; from <= text.size() && out.size() < places_max;) {
    const auto found = search(pattern, text, from);
    if (!found)
      break;
    out.push_back(*found);
    const auto end =
        static_cast<std::size_t>((*found)[0].data() - text.data()) + (*found)[0].size();
    // After an empty match, searching at `end` would find it again.
    from = (*found)[0].empty() ? end + 1 : end;
  }
  return out;
}

std::chrono::nanoseconds answer_time(const script& from, std::size_t text_bytes,
                                     std::pair<double, double> random) {
  const auto& l = from.latency;
  auto ms = l.low_ms;
  if (l.kind == script_latency::shape::uniform)
    ms += (l.high_ms - l.low_ms) * random.first;
  if (l.kind == script_latency::shape::lognormal) { // Box-Muller transform
    const auto normal =
        std::sqrt(-2 * std::log(1 - random.first)) * std::cos(2 * std::numbers::pi * random.second);
    ms = std::min(l.low_ms * std::exp(l.sigma * normal), l.high_ms);
  }
  if (from.tokens_per_second > 0)
    ms += 1e3 * std::ceil(static_cast<double>(text_bytes) / 4) / from.tokens_per_second;
  return std::chrono::nanoseconds{static_cast<std::int64_t>(ms * 1e6)};
}

} // namespace superstep::models

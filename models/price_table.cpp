// SPDX-License-Identifier: Apache-2.0
// The prices of models, and the cost of calls. prices.json has the prices; the build makes
// models/prices.cpp of it.
#include "models/built_in_prices.hpp"
#include "models/read_text_file.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/models/detail/price_table.hpp>

#include <algorithm>
#include <cmath>

namespace superstep {
namespace {

std::string_view view(json::string_view text) noexcept {
  return {text.data(), text.size()};
}

error wrong_price(std::string_view where, std::string_view key, std::string_view what) {
  auto text = std::string{where};
  text += text.empty() ? "" : ": ";
  text.append(key).append(": ").append(what);
  return {errc::parse_failed, std::move(text)};
}

/// Reads one price; @pre `value` is a member of a model's prices.
std::optional<double> price_in(const json::value& value) {
  auto failed = boost::system::error_code{};
  const auto number = value.to_number<double>(failed);
  if (failed || !std::isfinite(number) || number < 0)
    return std::nullopt;
  return number;
}

result<model_price> read_price(const json::value& value, std::string_view where,
                               const std::string& name) {
  const auto* members = value.if_object();
  if (members == nullptr)
    return wrong_price(where, name, "must be a mapping such as {input: 2.5, output: 10}");
  auto out = model_price{};
  for (const auto& [key, given] : *members) {
    const auto path = name + '.' + std::string{view(key)};
    const auto price = price_in(given);
    if (!price)
      return wrong_price(where, path, "must be a number of US dollars per million tokens");
    if (key == "input")
      out.input = *price;
    else if (key == "output")
      out.output = *price;
    else if (key == "cached_input")
      out.cached_input = price;
    else if (key == "cache_write")
      out.cache_write = price;
    else
      return wrong_price(where, path,
                         "is not a price; prices are input, output, cached_input and cache_write");
  }
  for (const auto* required : {"input", "output"})
    if (!members->contains(required))
      return wrong_price(where, name + '.' + required, "is missing");
  return out;
}

bool is_digits(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Returns the name without a date at its end (-2024-08-06 or -20250514).
std::string_view without_date(std::string_view name) noexcept {
  constexpr auto long_date = std::size_t{11}; // -2024-08-06
  constexpr auto short_date = std::size_t{9}; // -20250514
  if (name.size() > long_date) {
    const auto end = name.substr(name.size() - long_date);
    if (end[0] == '-' && end[5] == '-' && end[8] == '-' && is_digits(end.substr(1, 4)) &&
        is_digits(end.substr(6, 2)) && is_digits(end.substr(9, 2)))
      return name.substr(0, name.size() - long_date);
  }
  if (name.size() > short_date) {
    const auto end = name.substr(name.size() - short_date);
    if (end[0] == '-' && is_digits(end.substr(1)))
      return name.substr(0, name.size() - short_date);
  }
  return name;
}

/// Returns the name without a provider (openai:…, openai/…).
std::string_view without_provider(std::string_view name) noexcept {
  for (const auto* provider : {"openai", "openai-responses", "anthropic", "ollama"}) {
    const auto prefix = std::string_view{provider};
    if (name.size() > prefix.size() && name.starts_with(prefix) &&
        (name[prefix.size()] == ':' || name[prefix.size()] == '/'))
      return name.substr(prefix.size() + 1);
  }
  return name;
}

/// Whether a detail of the usage counts input tokens that were read from a cache. Service tiers
/// have prefixes: priority_cache_read, flex_cache_read.
bool is_cache_read(std::string_view name) noexcept {
  return name.ends_with("cache_read");
}

/// Whether a detail of the usage counts input tokens that were written to a cache.
bool is_cache_write(std::string_view name) noexcept {
  return name == "cache_creation" || name.starts_with("ephemeral_");
}

std::int64_t sum_of(const json::object& details, bool (*counts)(std::string_view)) {
  auto out = std::int64_t{0};
  for (const auto& [name, value] : details)
    if (const auto* number = value.if_int64(); number != nullptr && counts(view(name)))
      out += std::max<std::int64_t>(*number, 0);
  return out;
}

} // namespace

const price_table& price_table::built_in() {
  static const auto table = [] {
    auto parsed = parse_json(models::built_in_prices);
    SUPERSTEP_ASSERT(parsed.has_value());
    auto read = from_json(*parsed, "prices.json");
    SUPERSTEP_ASSERT(read.has_value());
    return *std::move(read);
  }();
  return table;
}

result<price_table> price_table::from_json(const json::value& value, std::string_view where) {
  const auto* root = value.if_object();
  if (root == nullptr)
    return wrong_price(where, "prices", "must be a mapping of model names to prices");
  auto out = price_table{};
  const auto* models = root;
  if (const auto* inner = root->if_contains("models");
      inner != nullptr && inner->is_object() && !inner->as_object().contains("input")) {
    models = &inner->as_object();
    for (const auto& [key, given] : *root) {
      const auto is_text = key == "date" || key == "note" || key == "unit";
      if (key != "models" && !is_text)
        return wrong_price(where, view(key), "is unknown; the keys are date, unit, note, models");
      if (is_text && !given.is_string())
        return wrong_price(where, view(key), "must be a text");
    }
    if (const auto* date = root->if_contains("date"))
      out.date_ = date->as_string().c_str();
  }
  for (const auto& [name, given] : *models) {
    auto price = read_price(given, where, std::string{view(name)});
    if (!price)
      return price.error();
    out.models_.insert_or_assign(std::string{view(name)}, *price);
  }
  return out;
}

result<price_table> price_table::read(const std::string& path) {
  constexpr auto file_bytes_max = std::size_t{4} << 20U;
  auto text = models::read_text_file(path, file_bytes_max);
  if (!text)
    return text.error();
  auto parsed = parse_json(*text);
  if (!parsed)
    return error{errc::parse_failed, path + ": " + parsed.error().text};
  return from_json(*parsed, path);
}

void price_table::add(const price_table& more) {
  for (const auto& [name, price] : more.models_)
    models_.insert_or_assign(name, price);
}

const model_price* price_table::find(std::string_view model) const {
  const auto bare = without_provider(model);
  for (const auto name : {model, bare, without_date(bare), std::string_view{"*"}})
    if (const auto at = models_.find(name); at != models_.end())
      return &at->second;
  return nullptr;
}

std::int64_t cost_of(const token_usage& usage, const model_price& price) {
  // A dollar per million tokens is a thousand billionths of a dollar per token.
  constexpr auto billionths = 1'000.0;
  const auto input = std::max<std::int64_t>(usage.input_tokens, 0);
  const auto cached = std::min(sum_of(usage.input_details, is_cache_read), input);
  const auto stored = std::min(sum_of(usage.input_details, is_cache_write), input - cached);
  const auto output = std::max<std::int64_t>(usage.output_tokens, 0);
  const auto sum = static_cast<double>(input - cached - stored) * price.input +
                   static_cast<double>(cached) * price.cached_input.value_or(price.input) +
                   static_cast<double>(stored) * price.cache_write.value_or(price.input) +
                   static_cast<double>(output) * price.output;
  return std::llround(std::min(sum * billionths, 9e18));
}

} // namespace superstep

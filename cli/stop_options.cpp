// SPDX-License-Identifier: Apache-2.0
// The options of `superstep run` that stop a job before its end, and the prices for budgets.
#include "cli/stop_options.hpp"

#include "cli/agent_runner.hpp"
#include "cli/usage.hpp"

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace superstep::cli {

namespace {

constexpr auto dollars_max = 1e9;
constexpr auto tokens_max = std::uint64_t{1'000'000'000'000'000};

std::optional<double> dollars_in(std::string_view text) {
  auto out = 0.0;
  const auto* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, out, std::chars_format::fixed);
  if (text.empty() || stop != end || code != std::errc{} || !(out > 0 && out <= dollars_max))
    return std::nullopt;
  return out;
}

/// Parses a duration such as 90, 90s, 500ms, 5m or 2h. A number without a unit is in seconds.
std::optional<std::chrono::milliseconds> duration_in(std::string_view text) {
  auto number = std::uint64_t{0};
  const auto* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (stop == text.data() || code != std::errc{} || number > duration_ms_max)
    return std::nullopt;
  const auto unit = std::string_view{stop, static_cast<std::size_t>(end - stop)};
  auto factor = std::uint64_t{0};
  if (unit == "ms")
    factor = 1;
  else if (unit.empty() || unit == "s")
    factor = 1'000;
  else if (unit == "m")
    factor = 60'000;
  else if (unit == "h")
    factor = 3'600'000;
  if (factor == 0 || number > duration_ms_max / factor)
    return std::nullopt;
  return std::chrono::milliseconds{static_cast<std::int64_t>(number * factor)};
}

void add_duration(CLI::App& verb, const std::string& name,
                  std::optional<std::chrono::milliseconds>& into, const std::string& text) {
  verb.add_option_function<std::string>(
          name, [&into](const std::string& given) { into = duration_in(given); }, text)
      ->type_name("DURATION")
      ->check([](const std::string& given) {
        return duration_in(given) ? std::string{}
                                  : "must be a duration of at most 49 days, such as 90s, 5m or 2h";
      });
}

error unknown_price(const std::string& model) {
  if (model.empty()) // scripted and recorded models
    return {errc::invalid_argument,
            "--budget-usd: the model has no name, so its price is not known; use --budget-tokens"};
  return {errc::invalid_argument,
          "--budget-usd: the price of the model '" + model +
              "' is not known; add it to the key prices of the agent file or to a file for "
              "--prices"};
}

} // namespace

void add_stop_options(CLI::App& verb, stop_arguments& into) {
  auto& rules = into.rules;
  verb.add_option_function<std::string>(
          "--fail-if",
          [&rules](const std::string& text) { static_cast<void>(parse_fail_if(text, rules)); },
          "Stop the job on conditions, separated by commas: no-success (50 failed rows and none "
          "that succeeded; always applies), error-rate>SHARE (after 50 rows), dead>NUMBER; none: "
          "no condition")
      ->type_name("CONDITIONS")
      ->check([](const std::string& text) {
        auto unused = stop_rules{};
        const auto parsed = parse_fail_if(text, unused);
        return parsed ? std::string{} : parsed.error().text;
      });
  verb.add_option_function<std::string>(
          "--budget-usd",
          [&rules](const std::string& text) {
            rules.budget = std::llround(dollars_in(text).value_or(0) * 1e9);
          },
          "Stop the job when its rows have cost so many US dollars, over all its runs; with "
          "--matrix, each combination has this budget")
      ->type_name("AMOUNT")
      ->check([](const std::string& text) {
        return dollars_in(text) ? std::string{}
                                : "must be a number of dollars above 0, such as 2.50";
      });
  add_number(
      verb, "--budget-tokens", rules.budget_tokens,
      "Stop the job when its rows have used so many tokens, over all its runs; with --matrix, "
      "each combination has this budget",
      1, tokens_max);
  add_duration(verb, "--quota-wait", rules.quota_wait,
               "How long the job waits if the quota of the provider's account is exhausted; 0 = "
               "it stops; default: 1h, but 0 before the first row has succeeded");
  add_duration(verb, "--drain-timeout", rules.drain_timeout,
               "How long rows in flight may take to finish when the job stops early; default: no "
               "limit");
  verb.add_option("--prices", into.prices,
                  "JSON file with the prices of models; they replace the built-in prices")
      ->check(named_file());
}

result<price_table> prices_of(const stop_arguments& given, const agent& a) {
  auto out = price_table::built_in();
  out.add(a.spec().prices);
  if (!given.prices.empty()) {
    const auto read = price_table::read(given.prices);
    if (!read)
      return error{read.error().code, "--prices: " + read.error().text};
    out.add(*read);
  }
  const auto has_budget = given.rules.budget || given.rules.budget_tokens;
  if (has_budget && !a.sub_agents().empty())
    return error{errc::invalid_argument,
                 "a budget does not work with an agent that calls other agents, because their "
                 "tokens are not counted; remove --budget-usd and --budget-tokens"};
  if (const auto model = model_name_of(a); given.rules.budget && out.find(model) == nullptr)
    return unknown_price(model);
  return out;
}

std::string missing_price_note(const agent& a, const price_table& prices) {
  const auto model = model_name_of(a);
  if (model.empty() || prices.find(model) != nullptr)
    return {};
  return "the price of the model '" + model +
         "' is not known, so costs are not computed; add it to the key prices of the agent file or "
         "to a file for --prices";
}

} // namespace superstep::cli

// SPDX-License-Identifier: Apache-2.0
// The options of `superstep run` that stop a job before its end, and the prices for budgets.
#include "cli/stop_options.hpp"

#include "cli/agent_runner.hpp"
#include "cli/usage.hpp"

#include <charconv>
#include <cmath>
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

error unknown_price(const std::string& model) {
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
          "Stop the job when its rows have cost so many US dollars, over all its runs")
      ->type_name("AMOUNT")
      ->check([](const std::string& text) {
        return dollars_in(text) ? std::string{}
                                : "must be a number of dollars above 0, such as 2.50";
      });
  add_number(verb, "--budget-tokens", rules.budget_tokens,
             "Stop the job when its rows have used so many tokens, over all its runs", 1,
             tokens_max);
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

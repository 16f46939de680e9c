// SPDX-License-Identifier: Apache-2.0
// superstep check AGENT --input FILE --estimate: what a job would read, before its first call.
#include "cli/estimate.hpp"

#include "base/error_words.hpp"
#include "batch/estimate.hpp"
#include "batch/usd_text.hpp"
#include "cli/agent_runner.hpp"

#include <superstep/messages/history.hpp>

#include <fmt/format.h>

namespace superstep::cli {

namespace {

/// Returns the estimated tokens that each request of an agent contains in addition to the row: the
/// prompt and the definitions of the tools.
std::int64_t tokens_of_agent(const agent& a) {
  auto more = message_list{};
  if (!a.spec().prompt.empty())
    more.push_back(system_message(a.spec().prompt));
  auto definitions = std::string{};
  for (const auto& tool : a.tools()) {
    const auto& definition = tool->definition();
    definitions += definition.name + definition.description + to_text(definition.parameters);
  }
  if (a.spec().response)
    definitions += to_text(*a.spec().response);
  if (!definitions.empty())
    more.push_back(system_message(std::move(definitions)));
  return count_tokens_approximately(more);
}

std::string cost_text(const price_table& prices, const agent& a, std::int64_t tokens) {
  const auto* price = prices.find(model_name_of(a));
  if (price == nullptr)
    return "cost: the price of the model is not known; add it to the key prices of the agent file, "
           "or use --prices\n";
  auto usage = token_usage{};
  usage.input_tokens = tokens;
  constexpr auto units = 1e9; // cost_of() returns billionths of a dollar
  return fmt::format(
      "cost: about {} for these tokens; answers ({} per million tokens) and further calls of "
      "a row are not included\n",
      detail::usd_text(static_cast<double>(cost_of(usage, *price)) / units),
      detail::usd_text(price->output));
}

} // namespace

result<std::string> describe_input(const run_arguments& given, const agent& a, bool has_estimate) {
  const auto more = tokens_of_agent(a);
  const auto stop = stop_request{};
  const auto prices = prices_of(given.stop, a);
  if (!prices)
    return prices.error();
  const auto found = detail::estimate_input(
      options_of(given, a),
      [more](const row_request& row) { return more + count_tokens_approximately(row.messages); },
      stop);
  if (!found)
    return found.error();
  const auto bad = found->rows.wanted - found->runs;
  auto out = fmt::format("{}: {}", given.batch.input == "-" ? "standard input" : given.batch.input,
                         counted(found->runs, "row"));
  if (bad > 0)
    out += ", " + counted(bad, "invalid line");
  if (found->rows.all > found->rows.wanted)
    out += fmt::format(" of {} because of --limit", found->rows.all);
  out += '\n';
  if (!has_estimate)
    return out;
  if (found->runs > 0)
    out += fmt::format("first model calls: about {} input tokens, {} per row, at most {}\n",
                       found->tokens, found->tokens / static_cast<std::int64_t>(found->runs),
                       found->tokens_max);
  return out + cost_text(*prices, a, found->tokens);
}

} // namespace superstep::cli

// SPDX-License-Identifier: Apache-2.0
// superstep check AGENT --input FILE --estimate: what a job would read, before its first call.
#include "cli/estimate.hpp"

#include "base/error_words.hpp"
#include "batch/estimate.hpp"
#include "batch/usd_text.hpp"
#include "cli/agent_runner.hpp"

#include <superstep/messages/history.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

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

/// Estimated tokens by the names of the models that the rows ask for.
using tokens_by_model = std::map<std::string, std::int64_t>;

std::string cost_text(const price_table& prices, const tokens_by_model& tokens) {
  auto cost = 0.0;
  auto answers = std::set<double>{}; // prices
  auto unknown = std::vector<std::string>{};
  for (const auto& [model, count] : tokens) {
    const auto* price = prices.find(model);
    if (price == nullptr) {
      unknown.push_back('\'' + model + '\'');
      continue;
    }
    auto usage = token_usage{};
    usage.input_tokens = count;
    constexpr auto units = 1e9; // cost_of() returns billionths of a dollar
    cost += static_cast<double>(cost_of(usage, *price)) / units;
    answers.insert(price->output);
  }
  if (answers.empty())
    return "cost: the price of the model is not known; add it to the key prices of the agent file, "
           "or use --prices\n";
  auto of_answers = detail::usd_text(*answers.begin());
  if (answers.size() > 1)
    of_answers += " to " + detail::usd_text(*answers.rbegin());
  auto without = std::string{};
  if (!unknown.empty())
    without =
        fmt::format(", without the rows of {}, whose price is not known", fmt::join(unknown, ", "));
  return fmt::format("cost: about {} for these tokens{}; answers ({} per million tokens) and "
                     "further calls of a row are not included\n",
                     detail::usd_text(cost), without, of_answers);
}

} // namespace

result<std::string> describe_input(const run_arguments& given, const agent& a, bool has_estimate) {
  const auto more = tokens_of_agent(a);
  const auto stop = stop_request{};
  const auto prices = prices_of(given.stop, a);
  if (!prices)
    return prices.error();
  auto tokens = tokens_by_model{};
  const auto found = detail::estimate_input(
      options_of(given, a),
      [&](const row_request& row) {
        const auto count = more + count_tokens_approximately(row.messages);
        tokens[model_name_of(a, row.parameters)] += count;
        return count;
      },
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
  if (tokens.empty()) // there are no rows
    tokens[model_name_of(a)] = 0;
  return out + cost_text(*prices, tokens);
}

} // namespace superstep::cli

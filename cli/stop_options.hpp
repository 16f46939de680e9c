// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/batch/detail/stop_rules.hpp>
#include <superstep/models/detail/price_table.hpp>

#include <CLI/CLI.hpp>

#include <string>

namespace superstep::cli {

/// The options of `superstep run` that stop a job before its end, and the prices.
struct stop_arguments {
  stop_rules rules;
  std::string prices; ///< path of a price file; empty: none
};

/// Adds the options. `into` must outlive the verb.
void add_stop_options(CLI::App& verb, stop_arguments& into);

/// Returns the prices for a job: the built-in ones, those of the agent file, and those of the price
/// file, in increasing order of precedence. Fails if the price file is invalid, or if a budget in
/// dollars is given and the price of the agent's model is not known.
[[nodiscard]] result<price_table> prices_of(const stop_arguments& given, const agent& a);

/// Returns a remark for the user if costs cannot be computed; empty if they can.
[[nodiscard]] std::string missing_price_note(const agent& a, const price_table& prices);

} // namespace superstep::cli

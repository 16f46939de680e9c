// SPDX-License-Identifier: Apache-2.0
// Simulates a fleet of workers in virtual time, for `scripts/soak ledger_claims` and
// `scripts/soak ledger_fleet`.
//
//   ledger_simulation NAME=VALUE…
//
// A NAME is a member of simulation_options. Prints the figures, and a line of JSON with some of
// them. Exits with 1 if an invariant is broken.
#include "ledger/submit.hpp"
#include "simulation.hpp"

#include <fmt/format.h>

#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace superstep::testing;

/// Sets a member. A value of 0 for `chunk_rows` selects the size that `superstep submit` chooses.
void set(simulation_options& to, const std::string& name, const std::string& value) {
  const auto number = std::stod(value);
  const auto reals = std::map<std::string, double*>{
      {"row_median", &to.row_median},
      {"row_sigma", &to.row_sigma},
      {"row_longest", &to.row_longest},
      {"start_within", &to.start_within},
      {"statement_cost", &to.statement_cost},
      {"row_cost", &to.row_cost},
      {"read_cost", &to.read_cost},
      {"row_processor", &to.row_processor},
      {"start_processor", &to.start_processor},
      {"network", &to.network},
      {"crash_every", &to.crash_every},
      {"restart_after", &to.restart_after},
      {"rack_loss_at", &to.rack_loss_at},
      {"slow_share", &to.slow_share},
  };
  if (const auto found = reals.find(name); found != reals.end())
    *found->second = number;
  else if (name == "seed")
    to.seed = std::stoull(value);
  else if (name == "rows")
    to.rows = std::stoull(value);
  else if (name == "chunk_rows")
    to.chunk_rows = std::stoull(value);
  else if (name == "concurrency")
    to.concurrency = std::stoull(value);
  else if (name == "workers")
    to.workers = static_cast<std::uint32_t>(std::stoul(value));
  else if (name == "cores")
    to.cores = static_cast<std::uint32_t>(std::stoul(value));
  else
    throw std::invalid_argument{"there is no option " + name};
}

int run(const std::vector<std::string>& given) {
  auto options = simulation_options{};
  options.chunk_rows = 0;
  for (const auto& each : given) {
    const auto at = each.find('=');
    if (at == std::string::npos)
      throw std::invalid_argument{"usage: ledger_simulation NAME=VALUE..."};
    set(options, each.substr(0, at), each.substr(at + 1));
  }
  if (options.chunk_rows == 0)
    options.chunk_rows = superstep::detail::chunk_rows_of(options.rows, 0);
  const auto result = simulate(options);
  std::cout << to_text(options, result) << '\n'
            << fmt::format("{{\"makespan\":{},\"ideal\":{},\"last_percent\":{},\"longest_row\":{},"
                           "\"server_busy\":{},\"worst_wait\":{},\"rows_again\":{},"
                           "\"commits\":{}}}\n",
                           result.makespan, result.ideal, result.last_percent, result.longest_row,
                           result.server_busy, result.worst_wait, result.rows_again,
                           result.commits);
  return result.fault.empty() ? 0 : 1;
}

} // namespace

int main(int count, char** arguments) {
  try {
    return run({arguments + 1, arguments + count});
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 2;
  }
}

// SPDX-License-Identifier: Apache-2.0
// Fleets of workers in virtual time: no row is lost or stored twice, whatever fails. The long form
// (scripts/soak ledger) runs more seeds and rows; environment variables select them.
#include "ledger/submit.hpp"
#include "simulation.hpp"
#include "support/environment.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <string>

namespace {

using namespace superstep::testing;
using superstep::test::number_from_environment;

/// Runs a scenario with several seeds, and fails with the seed of a run that breaks an invariant.
void check_seeds(simulation_options options, std::uint64_t seeds) {
  const auto first = number_from_environment("SUPERSTEP_SEED", 1);
  seeds = number_from_environment("SUPERSTEP_SEEDS", seeds);
  for (auto seed = first; seed < first + seeds; ++seed) {
    options.seed = seed;
    const auto result = simulate(options);
    BOOST_TEST_MESSAGE(to_text(options, result));
    BOOST_TEST(result.fault.empty(), to_text(options, result));
    // The load depends on the number of workers, not of rows.
    const auto per_second = static_cast<double>(result.statements) / result.makespan;
    BOOST_TEST(per_second < 6.0 * options.workers + 10, to_text(options, result));
  }
}

/// A small fleet in which failures are frequent.
simulation_options small_fleet() {
  auto out = simulation_options{};
  out.rows = 4'000;
  out.chunk_rows = 64;
  out.workers = 12;
  out.concurrency = 16;
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(fleet_without_faults_stores_every_row_once) {
  check_seeds(small_fleet(), 2);
}

BOOST_AUTO_TEST_CASE(fleet_survives_crashes_of_workers) {
  auto options = small_fleet();
  options.crash_every = 60;
  check_seeds(options, 5);
}

BOOST_AUTO_TEST_CASE(fleet_refuses_workers_that_were_paused) {
  auto options = small_fleet();
  options.pause_every = 60;
  check_seeds(options, 5);
}

BOOST_AUTO_TEST_CASE(fleet_settles_statements_without_answer) {
  auto options = small_fleet();
  options.cut_share = 0.2;
  options.late_share = 0.5;
  check_seeds(options, 5);
}

BOOST_AUTO_TEST_CASE(fleet_survives_crashes_of_server) {
  auto options = small_fleet();
  options.server_crash_every = 40;
  options.server_away = 10;
  check_seeds(options, 5);
}

BOOST_AUTO_TEST_CASE(fleet_survives_all_faults_together) {
  auto options = small_fleet();
  options.crash_every = 200;
  options.pause_every = 200;
  options.cut_share = 0.05;
  options.late_share = 0.5;
  options.server_crash_every = 100;
  options.slow_share = 0.1;
  options.poisoned_share = 0.001;
  options.row_longest = 60; // a longer row would rarely survive its worker
  options.elastic_from = 2;
  check_seeds(options, 10);
}

/// Workers stop when the rows of all of them have cost the budget. A worker learns the cost of
/// other workers' rows from its statements, so a few more rows start before.
BOOST_AUTO_TEST_CASE(fleet_stops_when_budget_is_spent) {
  auto options = small_fleet();
  options.budget = 2'000;
  const auto most = options.budget + options.workers * options.concurrency * 5 / 4;
  const auto check = [&](std::int64_t least) {
    const auto seeds = number_from_environment("SUPERSTEP_SEEDS", 5);
    for (options.seed = 1; options.seed <= seeds; ++options.seed) {
      const auto result = simulate(options);
      BOOST_TEST_MESSAGE(to_text(options, result));
      BOOST_TEST(result.fault.empty(), to_text(options, result));
      BOOST_TEST(result.spent >= least, to_text(options, result));
      BOOST_TEST(result.spent <= static_cast<std::int64_t>(most), to_text(options, result));
    }
  };
  check(options.budget);
  // Rows that ran for nothing have also cost something, but only their worker knows.
  options.cut_share = 0.05;
  options.late_share = 0.5;
  check(options.budget * 9 / 10);
  options.crash_every = 200;
  check(options.budget * 9 / 10);
}

/// The claims of docs/many-machines.md for a thousand workers, with fewer rows.
BOOST_AUTO_TEST_CASE(thousand_workers_do_not_overload_server) {
  auto options = simulation_options{};
  options.rows = number_from_environment("SUPERSTEP_ROWS", 200'000);
  options.concurrency = options.rows < 1'000'000 ? 16 : 256;
  options.chunk_rows =
      options.rows < 1'000'000 ? 16 : superstep::detail::chunk_rows_of(options.rows, 0);
  options.crash_every = 4 * 3600;
  options.seed = number_from_environment("SUPERSTEP_SEED", 1);
  const auto result = simulate(options);
  BOOST_TEST_MESSAGE(to_text(options, result));
  BOOST_TEST(result.fault.empty(), to_text(options, result));
  BOOST_TEST(result.server_busy < 0.75, to_text(options, result));
  BOOST_TEST(result.worst_wait < 20, to_text(options, result));
  // Most rows run again at the end, when idle workers take over rows that have just started. In a
  // job of a few minutes, the end is a large part.
  BOOST_TEST(result.rows_again < (options.rows < 1'000'000 ? 0.05 : 0.01),
             to_text(options, result));
  // Workers lose at most the time of their last rows and a lease.
  BOOST_TEST(result.makespan < result.ideal * 1.06 + result.longest_row + 60,
             to_text(options, result));
}

/// A fleet that shares two processors with its server needs the time of the processors, and little
/// more.
BOOST_AUTO_TEST_CASE(fleet_on_one_machine_keeps_processors_busy) {
  auto options = simulation_options{};
  options.rows = 40'000;
  options.workers = 8;
  options.cores = 2;
  options.row_processor = 0.000'1;
  options.row_cost = 0.000'02;
  options.read_cost = 0.000'005;
  options.statement_cost = 0.000'3;
  options.start_processor = 0.01;
  options.start_within = options.network = 0;
  const auto result = simulate(options);
  BOOST_TEST_MESSAGE(to_text(options, result));
  BOOST_TEST(result.fault.empty(), to_text(options, result));
  BOOST_TEST(std::abs(result.ideal - 2.5) < 1e-9);
  BOOST_TEST(result.makespan > result.ideal, to_text(options, result));
  BOOST_TEST(result.makespan < result.ideal * 1.2, to_text(options, result));
}

BOOST_AUTO_TEST_CASE(loss_of_rack_delays_job_by_its_share) {
  auto options = simulation_options{};
  options.workers = 400;
  options.rows = 80'000;
  options.concurrency = options.chunk_rows = 16;
  options.rack_loss_at = 60;
  const auto result = simulate(options);
  BOOST_TEST_MESSAGE(to_text(options, result));
  BOOST_TEST(result.fault.empty(), to_text(options, result));
  BOOST_TEST(result.makespan < result.ideal * 1.25 + result.longest_row + 60,
             to_text(options, result));
}

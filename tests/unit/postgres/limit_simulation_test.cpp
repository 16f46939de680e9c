// SPDX-License-Identifier: Apache-2.0
// Processes that share a limit per minute, in virtual time: the limit holds in every minute, is
// used, and is divided fairly, whatever fails. `scripts/soak ledger` runs more seeds.
#include "limit_simulation.hpp"
#include "support/environment.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>

namespace {

using namespace superstep::testing;
using superstep::test::number_from_environment;

/// Runs a fleet with several seeds. Fails with the seed of a run that breaks the limit or a claim.
void check_seeds(limit_fleet fleet, const std::function<bool(const limit_outcome&)>& holds) {
  const auto first = number_from_environment("SUPERSTEP_SEED", 1);
  const auto seeds = number_from_environment("SUPERSTEP_SEEDS", 3);
  for (auto seed = first; seed < first + seeds; ++seed) {
    fleet.seed = seed;
    const auto outcome = simulate(fleet);
    BOOST_TEST_MESSAGE(to_text(fleet, outcome));
    BOOST_TEST(outcome.fault.empty(), to_text(fleet, outcome));
    BOOST_TEST(holds(outcome), to_text(fleet, outcome));
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(limit_simulation)

BOOST_AUTO_TEST_CASE(busy_processes_use_limit_and_divide_it_equally) {
  check_seeds(
      {}, [](const limit_outcome& o) { return o.used > 0.95 && o.least > 0.8 && o.most < 1.2; });
}

BOOST_AUTO_TEST_CASE(calm_processes_get_what_they_want) {
  auto fleet = limit_fleet{};
  fleet.calm = 10; // an equal share is 5 requests per second
  check_seeds(fleet, [](const limit_outcome& o) {
    return o.used > 0.95 && o.calm_served > 0.98 && o.least > 0.8 && o.most < 1.2;
  });
}

BOOST_AUTO_TEST_CASE(killed_processes_leave_limit_to_others) {
  auto fleet = limit_fleet{};
  fleet.kill_every = 60;
  check_seeds(fleet, [](const limit_outcome& o) { return o.used > 0.95; });
}

BOOST_AUTO_TEST_CASE(lost_answers_do_not_break_limit) {
  auto fleet = limit_fleet{};
  fleet.lost_share = 0.05;
  fleet.network = 0.1;
  check_seeds(fleet, [](const limit_outcome& o) { return o.used > 0.75; });
}

BOOST_AUTO_TEST_CASE(processes_send_nothing_while_database_is_away) {
  auto fleet = limit_fleet{};
  fleet.absent_every = 60;
  // How often it is away depends on the seed.
  check_seeds(
      fleet, [](const limit_outcome& o) { return o.in_absence == 0 && o.used > 0.94 * o.present; });
}

BOOST_AUTO_TEST_CASE(small_limit_is_divided_among_many_processes) {
  auto fleet = limit_fleet{};
  fleet.processes = 100;
  fleet.quota = {600, 0};
  check_seeds(fleet, [](const limit_outcome& o) { return o.used > 0.94; });
}

BOOST_AUTO_TEST_CASE(large_requests_are_sent_although_small_ones_wait) {
  auto fleet = limit_fleet{};
  fleet.tokens = 20'000; // two seconds of the limit, and 43 seconds of an equal share
  fleet.length = 600;
  check_seeds(fleet, [](const limit_outcome& o) { return o.used > 0.7 && o.least > 0.6; });
}

BOOST_AUTO_TEST_CASE(large_fleet_divides_limit_equally) {
  auto fleet = limit_fleet{};
  fleet.processes =
      static_cast<std::uint32_t>(number_from_environment("SUPERSTEP_PROCESSES", 1'000));
  fleet.quota = {std::int64_t{300} * fleet.processes, 0};
  fleet.length = 120;
  check_seeds(
      fleet, [](const limit_outcome& o) { return o.used > 0.95 && o.least > 0.8 && o.most < 1.2; });
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// The engine under simulation: random graphs, orders of events and disturbances, in virtual time.
// SUPERSTEP_SIMULATED_SCHEDULES sets the number of schedules (2,000), and SUPERSTEP_SIMULATED_SEED
// the first seed (1).
#include "actors/phases.hpp"
#include "support/environment.hpp"
#include "unit/actors/simulator/schedule.hpp"
#include "unit/actors/simulator/search.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <iostream>
#include <string_view>

using namespace superstep::simulation;
using superstep::test::number_from_environment;

BOOST_AUTO_TEST_SUITE(coordinator_simulation)

namespace {

struct fault {
  mutant which;
  std::string_view name;
};
std::ostream& operator<<(std::ostream& out, const fault& f) {
  return out << f.name;
}

const auto faults = std::vector<fault>{
    {mutant::drop_ready_entry, "drop_ready_entry"},
    {mutant::keep_lease, "keep_lease"},
    {mutant::leave_outcome, "leave_outcome"},
    {mutant::skip_child_on_cancel, "skip_child_on_cancel"},
    {mutant::call_back_twice, "call_back_twice"},
    {mutant::apply_half_a_step, "apply_half_a_step"},
    {mutant::keep_timer, "keep_timer"},
    {mutant::forget_monitor, "forget_monitor"},
    {mutant::reorder_failures, "reorder_failures"},
    {mutant::lose_heartbeat, "lose_heartbeat"},
    {mutant::resume_twice, "resume_twice"},
    {mutant::start_after_end, "start_after_end"},
    {mutant::lose_wakeup, "lose_wakeup"},
    {mutant::forget_reader, "forget_reader"},
    {mutant::lose_retry, "lose_retry"},
    {mutant::lose_moved_cancel, "lose_moved_cancel"},
};

/// Whether the table of a machine (0: runs, 1: calls) lists a transition.
bool is_listed(std::size_t machine, std::size_t from, std::size_t to) {
  using namespace superstep;
  if (machine == 0)
    return from < run_phases &&
           may_follow(run_moves, static_cast<run_phase>(from), static_cast<run_phase>(to));
  return from < call_phases &&
         may_follow(call_moves, static_cast<call_phase>(from), static_cast<call_phase>(to));
}

/// Checks that the schedules have taken every transition of both machines.
void check_coverage(const transition_counts& taken, std::uint64_t schedules) {
  if (schedules < 2'000)
    return;
  for (auto machine = std::size_t{0}; machine < 2; ++machine)
    for (auto from = std::size_t{0}; from < 16; ++from)
      for (auto to = std::size_t{0}; to < 16; ++to)
        if (is_listed(machine, from, to))
          BOOST_TEST(taken[machine][from][to] > 0u, (machine == 0 ? "run" : "call")
                                                        << " phase " << from << " -> " << to
                                                        << " was never taken");
}

} // namespace

BOOST_AUTO_TEST_CASE(runs_end_once_and_alike_in_all_schedules) {
  const auto count = number_from_environment("SUPERSTEP_SIMULATED_SCHEDULES", 2'000);
  const auto found = search(number_from_environment("SUPERSTEP_SIMULATED_SEED", 1), count);
  if (found.has_found) {
    BOOST_ERROR(report(found));
    return;
  }
  std::cout << found.schedules << " schedules, " << found.orders << " distinct orders, "
            << found.events << " events; runs: " << found.finished << " finished, " << found.failed
            << " failed, " << found.interrupted << " interrupted" << std::endl;
  check_coverage(found.transitions, count);
  // The test would be useless if all runs failed, or if the seeds did not matter.
  BOOST_TEST(found.orders >= count - count / 20);
  BOOST_TEST(found.finished >= count / 2);
  BOOST_TEST(found.failed >= count / 20);
}

/// Seeds that broke a rule once: at the shutdown, the callback of a refused run submits another
/// run; the idle timeout of a node passes while its nested run waits for the reader; the actor of a
/// call that waits does not fit into the pool (two seeds); the deadline of a cancelled run passes
/// while a job thread applies its step.
BOOST_DATA_TEST_CASE(earlier_fault_does_not_return,
                     boost::unit_test::data::make(std::vector<std::uint64_t>{
                         1'008'930, 3'011'549, 3'543, 59'111, 15'725}),
                     seed) {
  const auto found = search(seed, 1);
  if (found.has_found)
    BOOST_ERROR(report(found));
}

BOOST_AUTO_TEST_CASE(seed_determines_every_event) {
  for (auto seed = std::uint64_t{1}; seed <= 40; ++seed) {
    const auto first = check(make_scenario(seed));
    const auto second = check(make_scenario(seed));
    BOOST_TEST(first.order == second.order);
    BOOST_TEST(first.events == second.events);
    BOOST_TEST(first.broken == second.broken);
  }
}

/// The simulation must find each deliberate fault.
BOOST_DATA_TEST_CASE(deliberate_fault_is_found, boost::unit_test::data::make(faults), f) {
  constexpr auto schedules_max = std::uint64_t{2'000};
  const auto found = search(1, schedules_max, f.which);
  BOOST_TEST(found.has_found, f.name << " was not found in " << schedules_max << " schedules");
  std::cout << f.name << ": found by schedule " << found.schedules + (found.broken.empty() ? 0 : 1)
            << ": " << found.broken.substr(0, found.broken.find('\n')) << std::endl;
}

BOOST_AUTO_TEST_CASE(failing_scenario_is_made_smaller) {
  const auto found = search(1, 200, mutant::lose_retry);
  BOOST_REQUIRE(found.has_found);
  const auto whole = make_scenario(found.seed);
  const auto smallest = minimise(whole, mutant::lose_retry);
  BOOST_TEST(!broken_by(smallest, mutant::lose_retry).empty());
  BOOST_TEST(to_text(smallest).size() < to_text(whole).size());
  BOOST_TEST(smallest.disturbances.empty());
}

BOOST_AUTO_TEST_SUITE_END()

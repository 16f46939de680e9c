// SPDX-License-Identifier: Apache-2.0
// The engine's cost for N items must grow linearly with N.
#include "growth_work.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <limits>

using namespace testing;

BOOST_AUTO_TEST_SUITE(growth)

namespace {

constexpr auto growth_max = 9.0; // above 4, because the larger case does not fit into CPU caches

/// Returns the cost ratio for four times the work: 4 if linear, 16 if quadratic. Measures both
/// sizes in turn and takes the minimum of each. A ratio above the limit is measured again, because
/// other processes share the CPU's caches. `measure` returns the CPU seconds of the measured part.
template <class Measure>
double growth_of(int n, Measure measure) {
  auto small = std::numeric_limits<double>::max();
  auto large = small;
  for (auto i = 0; i < 12 && (i < 3 || large / small >= growth_max); ++i) {
    small = std::min(small, measure(n));
    large = std::min(large, measure(4 * n));
  }
  return large / small;
}

} // namespace

BOOST_AUTO_TEST_CASE(cancelling_suspended_sends_takes_linear_time) {
  BOOST_TEST(growth_of(3'000, work::cancel_wide) < growth_max);
}

BOOST_AUTO_TEST_CASE(cancelling_many_runs_takes_linear_time) {
  BOOST_TEST(growth_of(2'000, work::cancel_many) < growth_max);
}

BOOST_AUTO_TEST_CASE(starting_many_waiting_runs_takes_linear_time) {
  BOOST_TEST(growth_of(2'000, work::park_many) < growth_max);
}

BOOST_AUTO_TEST_CASE(many_tasks_with_checkpointer_take_linear_time) {
  BOOST_TEST(growth_of(1'500, work::kept_sends) < growth_max);
}

BOOST_AUTO_TEST_CASE(many_cached_tasks_take_linear_time) {
  BOOST_TEST(growth_of(1'500, work::cached_sends) < growth_max);
}

BOOST_AUTO_TEST_CASE(resuming_interrupted_sends_takes_linear_time) {
  BOOST_TEST(growth_of(3'000, work::resume_interrupted) < growth_max);
}

BOOST_AUTO_TEST_CASE(reading_state_of_interrupted_sends_takes_linear_time) {
  BOOST_TEST(growth_of(3'000, work::read_interrupted) < growth_max);
}

BOOST_AUTO_TEST_CASE(long_chains_of_nodes_take_linear_time) {
  BOOST_TEST(growth_of(500, work::long_chain) < growth_max);
}

BOOST_AUTO_TEST_CASE(joins_of_many_nodes_take_linear_time) {
  BOOST_TEST(growth_of(500, work::wide_join) < growth_max);
}

BOOST_AUTO_TEST_CASE(many_joins_of_two_nodes_take_linear_time) {
  BOOST_TEST(growth_of(300, work::many_joins) < growth_max);
}

BOOST_AUTO_TEST_CASE(many_writes_of_actors_take_linear_time) {
  BOOST_TEST(growth_of(1'500, work::mailed_writes) < growth_max);
}

BOOST_AUTO_TEST_CASE(timers_of_ended_runs_release_their_memory) {
#ifndef __SANITIZE_ADDRESS__ // which has an allocator of its own
#  ifndef __SANITIZE_THREAD__
  const auto before = work::memory_after_timed_runs(5'000);
  const auto after = work::memory_after_timed_runs(30'000); // their 90,000 timers would take 6 MB
  BOOST_TEST(after < before + 1'000'000);
#  endif
#endif
}

BOOST_AUTO_TEST_CASE(reading_streams_in_turn_takes_linear_time) {
  BOOST_TEST(growth_of(500, work::slow_readers) < growth_max);
}

BOOST_AUTO_TEST_SUITE_END()

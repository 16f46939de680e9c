// SPDX-License-Identifier: Apache-2.0
// The byte budget shared by readers: waiting order, exemptions, cancellation and bounds.
#include "support/manual_executor.hpp"

#include <superstep/base/detail/byte_budget.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <random>
#include <vector>

using namespace superstep;
using superstep::test::manual_executor;

BOOST_AUTO_TEST_SUITE(byte_budget_suite)

namespace {

/// Reads `pieces` pieces of `bytes` bytes each and counts them in `done`.
task<void> read_pieces(byte_budget::lease& from, int pieces, std::size_t bytes, int& done) {
  for (auto i = 0; i < pieces; ++i) {
    auto waiting = from.grow(bytes);
    co_await waiting;
    ++done;
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(readers_wait_in_order_when_budget_is_exhausted) {
  auto run = manual_executor{};
  const auto budget = byte_budget{100};
  auto held = budget.open();
  BOOST_TEST(held.try_grow(90));
  auto leases = std::deque<byte_budget::lease>{};
  auto done = std::deque<int>(3);
  auto reading = std::deque<task<void>>{};
  for (auto i = std::size_t{0}; i < 3; ++i) {
    leases.push_back(budget.open());
    reading.push_back(read_pieces(leases[i], 1, 60, done[i]));
    run.start(reading[i]);
  }
  BOOST_TEST(done[0] == 1); // one reader at a time may exceed the budget
  BOOST_TEST(budget.waiting() == 2u);
  auto late = budget.open();
  BOOST_TEST(!late.try_grow(1)); // must not overtake the waiting readers
  leases[0].release();
  run.run_ready();
  BOOST_TEST(done[1] == 1);
  BOOST_TEST(done[2] == 0);
  held.release();
  leases[1].release();
  run.run_ready();
  BOOST_TEST(done[2] == 1);
  leases[2].release();
  BOOST_TEST(budget.used() == 0u);
}

BOOST_AUTO_TEST_CASE(single_reader_may_exceed_the_budget) {
  auto run = manual_executor{};
  const auto budget = byte_budget{100};
  auto lease = budget.open();
  auto done = 0;
  auto reading = read_pieces(lease, 50, 30, done);
  run.start(reading);
  BOOST_TEST(reading.done());
  BOOST_TEST(done == 50);
}

BOOST_AUTO_TEST_CASE(request_for_more_bytes_than_memory_does_not_fit) {
  const auto budget = byte_budget{100};
  auto first = budget.open();
  BOOST_TEST(first.try_grow(10));
  auto second = budget.open();
  BOOST_TEST(!second.try_grow(std::numeric_limits<std::size_t>::max() - 5));
  BOOST_TEST(second.try_grow(90));
}

BOOST_AUTO_TEST_CASE(idle_reader_does_not_block_others) {
  auto run = manual_executor{};
  const auto budget = byte_budget{100};
  auto stalled = budget.open();
  BOOST_TEST(stalled.try_grow(100));
  auto lease = budget.open();
  auto done = 0;
  auto reading = read_pieces(lease, 10, 50, done);
  run.start(reading);
  BOOST_TEST(done == 10);
}

BOOST_AUTO_TEST_CASE(destroyed_reader_returns_its_bytes) {
  auto run = manual_executor{};
  const auto budget = byte_budget{100};
  auto first = std::make_optional(budget.open());
  BOOST_TEST(first->try_grow(100));
  auto second = std::make_optional(budget.open());
  auto third = budget.open();
  auto done = std::deque<int>(2);
  auto exempt = read_pieces(*second, 1, 10, done[0]);
  run.start(exempt);
  auto waits = read_pieces(third, 1, 10, done[1]);
  run.start(waits);
  BOOST_TEST(done[1] == 0);
  exempt = task<void>{};
  second.reset(); // the exemption passes to the next reader
  run.run_ready();
  BOOST_TEST(done[1] == 1);
  waits = task<void>{};
  third.release();
  first.reset();
  BOOST_TEST(budget.used() == 0u);
  BOOST_TEST(budget.waiting() == 0u);
}

BOOST_AUTO_TEST_CASE(at_most_one_reader_exceeds_the_budget) {
  auto random = std::mt19937{7};
  auto run = manual_executor{};
  constexpr auto most = std::size_t{1'000};
  constexpr auto largest = std::size_t{40 * 64};
  const auto budget = byte_budget{most};
  auto leases = std::deque<byte_budget::lease>{};
  auto done = std::deque<int>{};
  auto reading = std::deque<task<void>>{};
  for (auto i = 0; i < 200; ++i) {
    leases.push_back(budget.open());
    done.push_back(0);
    reading.push_back(
        read_pieces(leases.back(), 1 + static_cast<int>(random() % 40), 64, done.back()));
    run.start(reading.back());
  }
  auto open = leases.size();
  while (open > 0) {
    auto ended = std::size_t{0};
    for (auto i = std::size_t{0}; i < reading.size(); ++i)
      if (done[i] >= 0 && reading[i].done()) {
        done[i] = -1;
        leases[i].release();
        ++ended;
      }
    run.run_ready();
    BOOST_TEST_REQUIRE(ended > 0u, "all wait");
    open -= ended;
  }
  BOOST_TEST(budget.used() == 0u);
  BOOST_TEST(budget.used_max() <= most + largest);
}

BOOST_AUTO_TEST_CASE(readers_proceed_in_order_as_bytes_are_released) {
  auto run = manual_executor{};
  constexpr auto most = std::size_t{64};
  constexpr auto size = std::size_t{15};
  constexpr auto count = std::size_t{1'000};
  const auto budget = byte_budget{most};
  auto leases = std::deque<byte_budget::lease>{};
  auto done = std::deque<int>(count);
  auto reading = std::deque<task<void>>{};
  for (auto i = std::size_t{0}; i < count; ++i) {
    leases.push_back(budget.open());
    reading.push_back(read_pieces(leases[i], 1, size, done[i]));
    run.start(reading[i]);
  }
  // Waiting readers hold nothing: as many proceed as fit, and one that is exempt.
  for (auto next = std::size_t{0}; next < count; ++next) {
    const auto proceeding = std::min(count - next, most / size + 1);
    BOOST_TEST_REQUIRE(budget.used() >= (proceeding - 1) * size);
    BOOST_TEST_REQUIRE(done[next] == 1, "reader " << next << " did not run");
    BOOST_TEST_REQUIRE((next + proceeding == count || done[next + proceeding] == 0));
    leases[next].release();
    run.run_ready();
  }
  BOOST_TEST(budget.used() == 0u);
  BOOST_TEST(budget.used_max() <= most + size);
}

BOOST_AUTO_TEST_CASE(cancelled_readers_leave_queue) {
  auto run = manual_executor{};
  const auto budget = byte_budget{100};
  auto leases = std::deque<std::optional<byte_budget::lease>>{};
  auto done = std::deque<int>(20);
  auto reading = std::deque<task<void>>{};
  for (auto i = std::size_t{0}; i < done.size(); ++i) {
    leases.emplace_back(budget.open());
    reading.push_back(read_pieces(*leases[i], 1, 60, done[i]));
    run.start(reading[i]);
  }
  BOOST_TEST(done[1] == 1); // one fits, one is exempt
  BOOST_TEST(budget.waiting() == 18u);
  for (auto i = std::size_t{2}; i < 19; ++i) {
    reading[i] = task<void>{};
    leases[i].reset();
  }
  BOOST_TEST(budget.waiting() == 1u);
  BOOST_TEST(budget.used() == 120u);
  leases[0].reset();
  leases[1].reset();
  run.run_ready();
  BOOST_TEST(done[19] == 1);
  leases[19].reset();
  BOOST_TEST(budget.used() == 0u);
}

BOOST_AUTO_TEST_CASE(budget_of_zero_is_unlimited) {
  const auto budget = byte_budget{0};
  auto leases = std::deque<byte_budget::lease>{};
  for (auto i = 0; i < 100; ++i) {
    leases.push_back(budget.open());
    BOOST_TEST(leases.back().try_grow(std::size_t{1} << 40));
  }
}

BOOST_AUTO_TEST_SUITE_END()

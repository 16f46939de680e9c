// SPDX-License-Identifier: Apache-2.0
// The parts of a coordinator: the tables of its state machines, the ready list and the timers.
#include "actors/phases.hpp"
#include "actors/ready_list.hpp"
#include "actors/record_pool.hpp"
#include "actors/sleepers.hpp"
#include "actors/timer_heap.hpp"
#include "actors/wait_list.hpp"

#include <superstep/base/task.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <random>
#include <vector>

BOOST_AUTO_TEST_SUITE(coordinator_parts)

namespace {

namespace ss = superstep;
using namespace std::chrono_literals;
using time_point = ss::timer_heap::time_point;

/// Returns the phases that a record can reach from `idle`, as bits.
template <std::size_t N>
std::uint32_t reachable(const std::array<std::uint16_t, N>& moves) {
  auto seen = std::uint32_t{1};
  for (auto round = std::size_t{0}; round < N; ++round)
    for (auto from = std::size_t{0}; from < N; ++from)
      if ((seen >> from & 1) != 0)
        seen |= moves[from];
  return seen;
}

/// Returns the phases from which a record can become idle again, as bits.
template <std::size_t N>
std::uint32_t recyclable(const std::array<std::uint16_t, N>& moves) {
  auto good = std::uint32_t{1};
  for (auto round = std::size_t{0}; round < N; ++round)
    for (auto from = std::size_t{0}; from < N; ++from)
      if ((moves[from] & good) != 0)
        good |= 1U << from;
  return good;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_phase_is_reachable_and_left) {
  constexpr auto all_of_run = (1U << ss::run_phases) - 1;
  constexpr auto all_of_call = (1U << ss::call_phases) - 1;
  BOOST_TEST(reachable(ss::run_moves) == all_of_run);
  BOOST_TEST(recyclable(ss::run_moves) == all_of_run);
  BOOST_TEST(reachable(ss::call_moves) == all_of_call);
  BOOST_TEST(recyclable(ss::call_moves) == all_of_call);
}

BOOST_AUTO_TEST_CASE(run_record_is_recycled_only_after_its_end) {
  using enum ss::run_phase;
  for (const auto from :
       {opening, preparing, saving, paused, running, settling, applying, cancelling}) {
    BOOST_TEST(!ss::may_follow(ss::run_moves, from, idle));
    BOOST_TEST(ss::may_follow(ss::run_moves, from, ending));
  }
  BOOST_TEST(!ss::may_follow(ss::run_moves, ending, running));
  BOOST_TEST(ss::may_follow(ss::run_moves, ending, idle));
}

BOOST_AUTO_TEST_CASE(given_up_call_never_reaches_its_run) {
  using enum ss::call_phase;
  for (const auto to : {in_place, waiting, job, suspended, resuming, taken})
    BOOST_TEST(!ss::may_follow(ss::call_moves, given_up, to));
}

BOOST_AUTO_TEST_CASE(ready_list_keeps_order_and_removes_anywhere) {
  auto list = ss::ready_list{};
  auto entries = std::vector<std::unique_ptr<ss::ready_entry>>{};
  for (auto i = 0; i < 5; ++i)
    entries.push_back(std::make_unique<ss::ready_entry>(ss::ready_kind::drive, nullptr));
  BOOST_TEST(list.front() == nullptr);
  for (const auto& e : entries)
    list.push_back(*e);
  list.push_back(*entries[0]); // it is in the list already
  ss::ready_list::remove(*entries[2]);
  ss::ready_list::remove(*entries[2]);
  BOOST_TEST(!entries[2]->is_listed());
  list.push_front(*entries[2]);
  for (const auto expected : {2, 0, 1, 3, 4})
    BOOST_TEST(&list.pop_front() == entries[static_cast<std::size_t>(expected)].get());
  BOOST_TEST(list.empty());
}

BOOST_AUTO_TEST_CASE(ready_queue_lets_groups_take_turns) {
  auto queue = ss::ready_queue{};
  auto large = ss::ready_group{};
  auto small = ss::ready_group{};
  auto entries = std::vector<std::unique_ptr<ss::ready_entry>>{};
  for (auto i = 0; i < 5; ++i)
    entries.push_back(std::make_unique<ss::ready_entry>(ss::ready_kind::resume, nullptr));
  for (const auto i : {0U, 1U, 2U})
    queue.push_back(large, *entries[i]);
  queue.push_back(small, *entries[3]);
  queue.push_front(large, *entries[4]);
  queue.push_back(small, *entries[0]); // ignored, because it is listed
  for (const auto expected : {4U, 3U, 0U, 1U, 2U})
    BOOST_TEST(&queue.pop_front() == entries[expected].get());
  BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_CASE(ready_queue_drops_group_with_its_last_entry) {
  auto queue = ss::ready_queue{};
  auto group = ss::ready_group{};
  auto entry = ss::ready_entry{ss::ready_kind::resume, nullptr};
  queue.push_back(group, entry);
  BOOST_TEST(group.turn.is_listed());
  ss::ready_queue::remove(group, entry);
  BOOST_TEST(!group.turn.is_listed());
  BOOST_TEST(queue.empty());
  ss::ready_queue::remove(group, entry);
  queue.push_front(group, entry);
  BOOST_TEST(&queue.pop_front() == &entry);
  BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_CASE(timers_fire_in_order_of_their_times) {
  auto heap = ss::timer_heap{};
  auto random = std::minstd_rand{7};
  auto timers = std::vector<std::unique_ptr<ss::timer>>{};
  for (auto i = 0; i < 1'000; ++i) {
    timers.push_back(std::make_unique<ss::timer>(ss::timer_kind::retry, nullptr));
    heap.set(*timers.back(), time_point{std::chrono::nanoseconds{random() % 10'000}});
  }
  for (auto i = std::size_t{0}; i < timers.size(); i += 3)
    heap.clear(*timers[i]);
  for (auto i = std::size_t{1}; i < timers.size(); i += 3) // moved to another time
    heap.set(*timers[i], time_point{std::chrono::nanoseconds{random() % 10'000}});
  auto last = time_point{};
  auto fired = std::size_t{0};
  while (!heap.empty()) {
    const auto due = heap.earliest();
    BOOST_TEST_REQUIRE((heap.pop_due(due - 1ns) == nullptr));
    auto* const t = heap.pop_due(due);
    BOOST_TEST_REQUIRE((t != nullptr));
    BOOST_TEST(!t->is_set());
    BOOST_TEST((t->due >= last));
    last = t->due;
    ++fired;
  }
  BOOST_TEST(fired == 666U);
  BOOST_TEST((heap.earliest() == time_point::max()));
}

BOOST_AUTO_TEST_CASE(cleared_timers_use_no_memory_of_heap) {
  auto heap = ss::timer_heap{};
  auto deadline = ss::timer{ss::timer_kind::deadline, nullptr};
  for (auto i = 0; i < 10'000; ++i) { // as one step after another sets its timeout
    heap.set(deadline, time_point{std::chrono::hours{i}});
    BOOST_TEST_REQUIRE(heap.size() == 1U);
  }
  heap.clear(deadline);
  heap.clear(deadline);
  BOOST_TEST(heap.empty());
}

namespace {

/// An executor that never resumes anything.
class idle_executor final : public ss::executor {
public:
  void resume_soon(ss::wait_ptr) noexcept override {}
  void wake_at(time_point, ss::wait_ptr) noexcept override {}
  [[nodiscard]] time_point now() const noexcept override { return {}; }
  void fork(ss::execution_context&, ss::task<void>, boost::intrusive_ptr<ss::fork_join>) override {}
};

} // namespace

BOOST_AUTO_TEST_CASE(pool_reuses_its_latest_free_record) {
  auto pool = ss::record_pool<int>{};
  auto made = 0;
  const auto make = [&] { return std::make_unique<int>(made++); };
  auto& first = pool.take(make);
  auto& second = pool.take(make);
  BOOST_TEST(pool.used() == 2U);
  pool.put_back(first);
  pool.put_back(second);
  BOOST_TEST(pool.free() == 2U);
  BOOST_TEST(pool.times_free(first) == 1U);
  BOOST_TEST(&pool.take(make) == &second);
  BOOST_TEST(&pool.take(make) == &first);
  BOOST_TEST(made == 2);
  BOOST_TEST(pool.times_free(first) == 0U);
}

BOOST_AUTO_TEST_CASE(pool_is_unchanged_if_a_record_cannot_be_made) {
  auto pool = ss::record_pool<int>{};
  const auto refuse = []() -> std::unique_ptr<int> { throw std::bad_alloc{}; };
  BOOST_CHECK_THROW(static_cast<void>(pool.take(refuse)), std::bad_alloc);
  BOOST_TEST(pool.all().empty());
  BOOST_TEST(pool.used() == 0U);
}

BOOST_AUTO_TEST_CASE(pool_grows_by_factors) {
  auto pool = ss::record_pool<int>{};
  auto growths = 0;
  for (auto i = 0; i < 100'000; ++i) {
    const auto before = pool.all().capacity();
    static_cast<void>(pool.take([] { return std::make_unique<int>(); }));
    growths += pool.all().capacity() == before ? 0 : 1;
  }
  BOOST_TEST(growths < 20);
  for (const auto& record : pool.all()) // does not allocate; see put_back()
    pool.put_back(*record);
  BOOST_TEST(pool.used() == 0U);
}

BOOST_AUTO_TEST_CASE(sleepers_are_woken_in_order) {
  const auto where = boost::intrusive_ptr<idle_executor>{new idle_executor};
  auto at = ss::execution_context{.where = where.get()};
  auto all = ss::sleepers{};
  BOOST_TEST((all.earliest() == time_point::max()));
  for (const auto due : {3ms, 1ms, 2ms}) {
    auto w = ss::wait_ptr{new ss::wait{{}, at}};
    w->due = time_point{due};
    all.add(w->due, std::move(w));
  }
  BOOST_TEST((all.earliest() == time_point{1ms}));
  BOOST_TEST(!all.pop_due(time_point{}));
  for (const auto due : {1ms, 2ms, 3ms})
    BOOST_TEST((all.pop_due(time_point{5ms})->due == time_point{due}));
  BOOST_TEST(all.empty());
}

BOOST_AUTO_TEST_CASE(abandoned_sleepers_are_swept_when_the_heap_has_doubled) {
  const auto where = boost::intrusive_ptr<idle_executor>{new idle_executor};
  auto at = ss::execution_context{.where = where.get()};
  auto all = ss::sleepers{};
  for (auto i = std::size_t{0}; i < 10 * ss::sleepers::sweep_min; ++i) {
    auto w = ss::wait_ptr{new ss::wait{{}, at}};
    w->due = time_point{1ms};
    if (i % 10 != 0)
      w->abandon();
    all.add(w->due, std::move(w));
    BOOST_TEST_REQUIRE(all.size() <= 2 * (i / 10 + 1) + ss::sleepers::sweep_min);
  }
}

BOOST_AUTO_TEST_CASE(waits_of_body_are_taken_in_order_without_the_abandoned) {
  const auto where = boost::intrusive_ptr<idle_executor>{new idle_executor};
  auto at = ss::execution_context{.where = where.get()};
  auto made = std::vector<ss::wait_ptr>{};
  auto ended = ss::wait_list{};
  for (auto i = 0; i < 4; ++i) {
    made.emplace_back(new ss::wait{{}, at});
    BOOST_TEST(made.back()->end_in_place());
    ended.add(ss::wait_ptr{made.back()});
  }
  made[0]->abandon();
  made[2]->abandon();
  BOOST_TEST((ended.take() == made[1]));
  BOOST_TEST((ended.take() == made[3]));
  BOOST_TEST(ended.is_empty());
  BOOST_TEST(!ended.take());
  ended.add(ss::wait_ptr{made[1]});
  ended.clear();
  BOOST_TEST(ended.is_empty());
  for (const auto& w : made)
    BOOST_TEST(w->use_count() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

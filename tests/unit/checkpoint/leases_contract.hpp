// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/checkpointer_contract.hpp"
#include "checkpoint/row_checkpointer.hpp"

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

// The part of the checkpointer contract about leases, and about threads that are deleted or pruned
// while runs use them.
namespace checkpointer_contract {

inline ss::lease_ptr lease_of(ss::checkpointer& s, const std::string& thread_id,
                              ss::busy_policy how = ss::busy_policy::wait) {
  auto lent = std::promise<ss::lease_ptr>{};
  s.take(thread_id, how, [&](ss::result<ss::lease_ptr> got) { lent.set_value(*std::move(got)); });
  return lent.get_future().get();
}

/// Puts a checkpoint as a run does: only while the lease is held.
inline void put_with_lease(ss::checkpointer& s, const ss::lease_ptr& lease,
                           const ss::thread_key& of, int number, const ss::checkpoint_ptr& parent) {
  if (!lease->is_held())
    throw ss::checkpoint_error{make_error_code(ss::checkpoint_errc::conflict), "not held"};
  (void)maker{usual_layout(), of}.put(s, number, parent, {});
  settle(s, of);
  s.check(of);
}

template <class Place>
void run_of_deleted_thread_fails_with_conflict(Place& place) {
  const auto subgraph = ss::thread_key{"t", "a:x"};
  for (const auto is_pruned : {false, true})
    for (const auto& next : {key, subgraph}) {
      auto& s = place.get();
      auto lease = lease_of(s, "t");
      const auto first = maker{usual_layout()}.put(s, 1, nullptr, {});
      settle(s);
      if (is_pruned)
        BOOST_TEST(s.prune({.thread_id = "t", .whole_threads = true}) == 1U);
      else
        s.delete_thread("t");
      BOOST_CHECK_EXCEPTION(put_with_lease(s, lease, next, 2, next.ns.empty() ? first : nullptr),
                            ss::checkpoint_error, [](const auto& e) {
                              return has_code(e, ss::checkpoint_errc::conflict);
                            });
      lease.reset();
      BOOST_TEST(s.threads().empty());
      lease = lease_of(s, "t"); // the next run starts the thread over
      BOOST_CHECK_NO_THROW(put_with_lease(s, lease, key, 1, nullptr));
      BOOST_TEST(s.head(key) == id_of(1));
      lease.reset();
      s.delete_thread("t");
    }
}

template <class Place>
void lease_waits_for_all_former_holders(Place& place) {
  auto& s = place.get();
  for (const auto is_first_returned_first : {false, true}) {
    auto first = lease_of(s, "t");
    auto second = lease_of(s, "t", ss::busy_policy::take_over);
    BOOST_TEST((!first->is_held() && second->is_held()));
    auto is_given = std::atomic<bool>{false};
    auto given = std::promise<ss::lease_ptr>{};
    s.take("t", ss::busy_policy::wait, [&](ss::result<ss::lease_ptr> got) {
      is_given = true;
      given.set_value(*std::move(got));
    });
    (is_first_returned_first ? first : second).reset();
    BOOST_TEST(!is_given.load());
    auto refused = ss::result<ss::lease_ptr>{ss::lease_ptr{}};
    s.take("t", ss::busy_policy::refuse, [&](auto got) { refused = std::move(got); });
    BOOST_TEST((!refused && refused.error().code == ss::checkpoint_errc::in_use));
    (is_first_returned_first ? second : first).reset();
    BOOST_TEST(given.get_future().get()->is_held());
  }
}

/// Writes of all processes wait for each transaction of a prune.
template <class Place>
void prune_of_many_threads_uses_short_transactions(Place& place) {
  constexpr auto threads = 300;
  auto& s = place.get();
  for (auto i = 0; i < threads; ++i)
    (void)maker{usual_layout(), {"t" + std::to_string(i), ""}}.put(s, 1, nullptr, {});
  for (auto i = 0; i < threads; ++i)
    settle(s, {"t" + std::to_string(i), ""});
  auto is_over = std::atomic<bool>{false};
  auto run = std::jthread{[&] { // a run that saves its steps meanwhile
    auto m = maker{usual_layout(), {"run", ""}};
    for (auto i = 1; !is_over || i < 3; ++i) {
      (void)m.put(s, i, nullptr, {});
      settle(s, {"run", ""});
    }
  }};
  BOOST_TEST(s.prune({.keep_last = 1, .older_than = std::chrono::hours{1}}) == 0U);
  is_over = true;
  run.join();
  const auto* rows = dynamic_cast<const ss::row_checkpointer*>(&s);
  const auto before = rows == nullptr ? 0 : rows->written().transactions;
  const auto gone = s.prune({.whole_threads = true});
  BOOST_TEST(gone >= static_cast<std::size_t>(threads));
  BOOST_TEST(s.threads().empty());
  if (rows != nullptr)
    BOOST_TEST(rows->written().transactions - before >= 3U); // at most 128 threads in each
}

} // namespace checkpointer_contract

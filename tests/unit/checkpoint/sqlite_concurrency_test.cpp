// SPDX-License-Identifier: Apache-2.0
// The SQLite checkpointer while other connections use the same file.
#include "checkpoint/checkpointer_contract.hpp"
#include "checkpoint/sqlite_fixtures.hpp"

#include <superstep/checkpoint/sqlite.hpp>
#include <superstep/checkpoint/write_cache.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sqlite3.h>

namespace ss = superstep;
using namespace checkpointer_contract;

// Other users of a database during a run: they load, prune, and use many threads. The run must not
// fail or lose data.
BOOST_AUTO_TEST_SUITE(sqlite_concurrency)

namespace {

ss::lease_ptr take(ss::checkpointer& from, const std::string& thread = "t") {
  auto given = std::promise<ss::lease_ptr>{};
  from.take(thread, ss::busy_policy::take_over,
            [&](ss::result<ss::lease_ptr> l) { given.set_value(*std::move(l)); });
  return given.get_future().get();
}

/// Checks the content of the file with a new checkpointer: the newest checkpoint, and one task
/// record.
void check_ends_with(const std::string& path, const ss::checkpoint_ptr& at) {
  const auto back = open_checkpointer(path)->load(key, "", at->layout);
  BOOST_TEST((log_of(back->checkpoint) == log_of(at)));
  BOOST_TEST(back->tasks.size() == 1U);
}

ss::thread_key sub_of(int n) {
  return {"t", "sub:" + std::to_string(n)};
}

} // namespace

BOOST_AUTO_TEST_CASE(prune_of_all_threads_waits_for_queued_writes) {
  const auto folder = temporary_folder{};
  auto s = open_checkpointer(folder.file());
  auto* db = static_cast<sqlite3*>(nullptr);
  BOOST_REQUIRE(sqlite3_open(folder.file().c_str(), &db) == SQLITE_OK);
  BOOST_REQUIRE(sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  (void)maker{usual_layout()}.put(*s, 1, nullptr, {}); // is queued until the other one commits
  auto gone = std::async(std::launch::async, [&s] { return s->prune({.whole_threads = true}); });
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
  sqlite3_exec(db, "COMMIT", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  BOOST_TEST(gone.get() == 1U);
  BOOST_TEST(s->threads().empty());
}

BOOST_AUTO_TEST_CASE(run_exceeding_subgraph_cache_is_saved_completely) {
  constexpr auto subs = 600;
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto s = open_checkpointer(folder.file());
  const auto lease = take(*s);
  auto last = std::vector<ss::checkpoint_ptr>(subs);
  for (auto step = 1; step <= 3; ++step) {
    for (auto n = 0; n < subs; ++n) {
      auto& at = last[static_cast<std::size_t>(n)];
      at = maker{layout, sub_of(n)}.put(*s, step, at, {set_n(n + step)});
      s->put_task(sub_of(n), *at, ended("a", 1));
    }
  }
  s.reset();
  s = open_checkpointer(folder.file());
  for (auto n = 0; n < subs; ++n) {
    const auto back = s->load(sub_of(n), "", layout);
    BOOST_REQUIRE(back.has_value());
    BOOST_TEST((n_of(back->checkpoint) == n + 3 && back->tasks.size() == 1));
  }
}

BOOST_AUTO_TEST_CASE(task_record_of_uncached_thread_is_stored) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto options = ss::sqlite_checkpointer_options{};
  options.threads_max = 4;
  auto s = open_checkpointer(folder.file(), options);
  const auto first = maker{layout}.put(*s, 1, nullptr, {set_n(1)});
  wait_until_saved(*s);
  for (auto t = 0; t < 20; ++t)
    (void)maker{layout, {"other" + std::to_string(t), ""}}.put(*s, 1, nullptr, {});
  s->put_task(key, *first, ended("a", 1));
  s.reset();
  BOOST_TEST(open_checkpointer(folder.file())->load(key, "", layout)->tasks.size() == 1U);
}

BOOST_AUTO_TEST_CASE(prune_does_not_affect_active_run) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto s = open_checkpointer(folder.file());
  const auto lease = take(*s);
  auto at = ss::checkpoint_ptr{};
  for (auto step = 1; step <= 60; ++step) {
    at = maker{layout}.put(*s, step, at, {add_log({std::to_string(step)})});
    if (step % 3 == 0)
      (void)s->prune({.thread_id = step % 2 == 0 ? "t" : "",
                      .keep_last = 1,
                      .older_than = {},
                      .whole_threads = false});
    s->put_task(key, *at, ended("a", 1));
  }
  s.reset();
  check_ends_with(folder.file(), at);
}

BOOST_AUTO_TEST_CASE(concurrent_loads_do_not_affect_active_run) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto s = open_checkpointer(folder.file());
  const auto lease = take(*s);
  (void)s->load(key, "", layout);
  auto is_over = std::atomic<bool>{false};
  auto lookers = std::vector<std::jthread>{};
  for (auto i = 0; i < 2; ++i)
    // The second reader uses its own layout, like another process that compiles the same graph.
    lookers.emplace_back([&, of = i == 0 ? layout : usual_layout()] {
      for (auto n = 1; !is_over; ++n) {
        (void)s->load(key, n % 3 == 0 ? id_of(n % 40) : "", of);
        (void)s->head(key);
      }
    });
  auto at = ss::checkpoint_ptr{};
  for (auto step = 1; step <= 300; ++step) {
    at = maker{layout}.put(*s, step, at, {add_log({std::to_string(step)})});
    s->put_task(key, *at, ended("a", 1));
    if (step % 7 == 0)
      wait_until_saved(*s);
  }
  is_over = true;
  lookers.clear();
  wait_until_saved(*s);
  s->check(key);
  s.reset();
  check_ends_with(folder.file(), at);
}

BOOST_AUTO_TEST_CASE(head_succeeds_while_thread_is_being_created) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto s = open_checkpointer(folder.file());
  const auto other = open_checkpointer(folder.file());
  constexpr auto threads = 200;
  const auto name = [](int n) { return "t" + std::to_string(n); };
  auto points = std::vector<ss::checkpoint_ptr>{};
  for (auto n = 0; n < threads; ++n)
    points.push_back(maker{layout, {name(n), ""}}.make(1, nullptr, {set_n(n)}));
  auto complaint = std::string{};
  auto looker = std::jthread{[&] {
    try {
      for (auto n = 0; n < threads;)
        n += other->head({name(n), ""}).empty() ? 0 : 1;
    } catch (const std::exception& e) {
      complaint = e.what();
    }
  }};
  for (auto n = 0; n < threads; ++n)
    s->put_now({name(n), ""}, points[static_cast<std::size_t>(n)]);
  looker.join();
  BOOST_TEST(complaint.empty(), complaint);
}

BOOST_AUTO_TEST_CASE(conflict_is_reported_until_next_lease_is_taken) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto ours = open_checkpointer(folder.file());
  auto theirs = open_checkpointer(folder.file());
  auto lease = take(*ours);
  (void)ours->load(key, "", layout);
  const auto first = maker{layout}.put(*ours, 1, nullptr, {set_n(1)});
  wait_until_saved(*ours);
  const auto other = theirs->load(key, "", layout)->checkpoint;
  (void)maker{layout}.put(*theirs, 2, other, {set_n(7)}); // after taking the thread over
  wait_until_saved(*theirs);
  const auto is_conflict = [](const ss::checkpoint_error& e) {
    return has_code(e, ss::checkpoint_errc::conflict);
  };
  // A load returns the stored checkpoint, but the failed run cannot continue from it.
  BOOST_TEST(n_of(ours->load(key, "", layout)->checkpoint) == 7);
  const auto put_next = [&] {
    (void)maker{layout}.put(*ours, 3, first, {set_n(3)});
    wait_until_saved(*ours);
    ours->check(key);
  };
  BOOST_CHECK_EXCEPTION(put_next(), ss::checkpoint_error, is_conflict);
  BOOST_TEST(n_of(ours->load(key, "", layout)->checkpoint) == 7);
  BOOST_CHECK_EXCEPTION(ours->check(key), ss::checkpoint_error, is_conflict);
  lease = take(*ours); // the next run starts from the stored state
  ours->check(key);
  const auto now = ours->load(key, "", layout)->checkpoint;
  (void)maker{layout}.put(*ours, 3, now, {set_n(8)});
  wait_until_saved(*ours);
  ours->check(key);
  BOOST_TEST(n_of(theirs->load(key, "", layout)->checkpoint) == 8);
}

BOOST_AUTO_TEST_CASE(failed_write_does_not_affect_other_threads) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto ours = open_checkpointer(folder.file());
  const auto first = maker{layout}.put(*ours, 1, nullptr, {set_n(1)});
  (void)maker{layout}.put(*ours, 2, first, {set_n(2)});
  wait_until_saved(*ours);
  ours = open_checkpointer(folder.file());
  (void)ours->load(key, "", layout);
  const auto old = ours->load(key, id_of(1), layout)->checkpoint; // start of a branch
  (void)open_checkpointer(folder.file())
      ->prune({.thread_id = "t", .keep_last = 1, .older_than = {}, .whole_threads = false});
  auto others = std::vector<ss::thread_key>{};
  auto* db = static_cast<sqlite3*>(nullptr);
  BOOST_REQUIRE(sqlite3_open(folder.file().c_str(), &db) == SQLITE_OK);
  // While another connection writes, all puts are queued and then share one transaction.
  BOOST_REQUIRE(sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  for (auto n = 0; n < 6; ++n) {
    others.push_back({"other" + std::to_string(n), ""});
    (void)maker{layout, others.back()}.put(*ours, 1, nullptr, {set_n(n)});
    if (n == 3)
      (void)maker{layout}.put(*ours, 3, old, {set_n(3)});
  }
  sqlite3_exec(db, "COMMIT", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  wait_until_saved(*ours);
  BOOST_CHECK_EXCEPTION(ours->check(key), ss::checkpoint_error, [](const ss::checkpoint_error& e) {
    return has_code(e, ss::checkpoint_errc::conflict);
  });
  for (const auto& other : others) {
    wait_until_saved(*ours, other);
    BOOST_CHECK_NO_THROW(ours->check(other));
  }
  ours = open_checkpointer(folder.file());
  for (auto n = 0; n < 6; ++n)
    BOOST_TEST(n_of(ours->load(others[static_cast<std::size_t>(n)], "", layout)->checkpoint) == n);
}

// With these values nothing would ever be written, or the writer would never wait.
BOOST_AUTO_TEST_CASE(sqlite_options_out_of_range_are_rejected) {
  using std::chrono::milliseconds;
  auto options = std::vector<ss::sqlite_checkpointer_options>(5);
  options[0].queue_bytes_max = 0;
  options[1].batch_rows_max = 0;
  options[2].task_flush_delay = milliseconds{-1};
  options[3].busy_timeout = milliseconds{-1};
  options[4].busy_timeout = milliseconds{std::int64_t{1} << 31}; // more than SQLite can count
  const auto folder = temporary_folder{};
  for (const auto& wrong : options)
    BOOST_CHECK_THROW(ss::sqlite_checkpointer(folder.file(), wrong), std::invalid_argument);
  BOOST_CHECK_THROW(ss::sqlite_cache(folder.file(), {.entries_max = 0}), std::invalid_argument);
  BOOST_CHECK_THROW(ss::memory_cache{0}, std::invalid_argument);
  const auto no_wait = ss::sqlite_store_options{.busy_timeout = milliseconds{-1}};
  BOOST_CHECK_THROW(ss::sqlite_store(folder.file(), no_wait), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// put_now(): checkpoints that are written by the calling thread.
#include "checkpoint/checkpointer_contract.hpp"
#include "checkpoint/row_checkpointer.hpp"
#include "checkpoint/sqlite_fixtures.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sqlite3.h>

namespace ss = superstep;
using namespace checkpointer_contract;

BOOST_AUTO_TEST_SUITE(sqlite_put_now)

namespace {

ss::row_checkpointer::counts written(const ss::checkpointer& by) {
  return dynamic_cast<const ss::row_checkpointer&>(by).written();
}

std::shared_ptr<ss::checkpointer> open(const std::string& path) {
  auto options = ss::sqlite_checkpointer_options{};
  options.task_flush_delay = std::chrono::hours{1}; // no separate writes of task records
  return open_checkpointer(path, options);
}

maker making_now(const ss::thread_key& of = key) {
  auto out = maker{usual_layout(), of};
  out.now = true;
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(put_now_saves_checkpoint_and_task_records_immediately) {
  const auto folder = temporary_folder{};
  auto s = open(folder.file());
  const auto other = open(folder.file());
  auto m = making_now();
  const auto first = m.put(*s, 1, nullptr, {set_n(1)});
  BOOST_TEST(!s->when_saved(key, [] {}));
  BOOST_TEST(other->head(key) == id_of(1));
  s->put_task(key, *first, ended("a", 1));
  (void)m.put(*s, 2, first, {set_n(2)});
  BOOST_TEST(!s->when_saved(key, [] {}));
  BOOST_TEST(other->head(key) == id_of(2));
  BOOST_TEST(other->load(key, id_of(1), usual_layout())->tasks.size() == 1U);
  BOOST_TEST(written(*s).rows == 2U);
}

// The writer thread need not be woken for each record: it looks again after the delay.
BOOST_AUTO_TEST_CASE(records_without_a_later_checkpoint_are_written_after_the_delay) {
  const auto folder = temporary_folder{};
  auto options = ss::sqlite_checkpointer_options{};
  options.task_flush_delay = std::chrono::milliseconds{20};
  auto s = open_checkpointer(folder.file(), options);
  const auto other = open(folder.file());
  auto m = making_now();
  auto last = m.put(*s, 1, nullptr, {set_n(1)});
  for (auto step = 2; step <= 6; ++step) {
    s->put_task(key, *last, ended("a", 1));
    last = m.put(*s, step, last, {set_n(step)}); // includes the record
    std::this_thread::sleep_for(std::chrono::milliseconds{step * 5});
    s->put_task(key, *last, ended("a", 1));
    while (other->load(key, "", usual_layout())->tasks.empty())
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  BOOST_TEST(other->head(key) == id_of(6));
}

// A write is left to the writer thread if the file is locked, for example while the other
// checkpointer moves its log into the database. Therefore the test tries several files.
BOOST_AUTO_TEST_CASE(put_now_throws_on_conflicting_write) {
  auto conflicts = 0;
  for (auto attempt = 0; attempt < 20 && conflicts == 0; ++attempt) {
    const auto folder = temporary_folder{};
    auto ours = open(folder.file());
    auto theirs = open(folder.file());
    auto m = making_now();
    const auto first = m.put(*ours, 1, nullptr, {set_n(1)});
    (void)m.put(*theirs, 2, theirs->load(key, "", usual_layout())->checkpoint, {set_n(22)});
    try {
      (void)m.put(*ours, 2, first, {set_n(2)});
    } catch (const ss::checkpoint_error& e) {
      BOOST_TEST(has_code(e, ss::checkpoint_errc::conflict));
      ++conflicts;
    }
    BOOST_TEST(n_of(theirs->load(key, "", usual_layout())->checkpoint) == 22);
  }
  BOOST_TEST(conflicts == 1);
}

BOOST_AUTO_TEST_CASE(put_now_does_not_block_on_locked_file) {
  const auto folder = temporary_folder{};
  auto s = open(folder.file());
  auto m = making_now();
  const auto first = m.put(*s, 1, nullptr, {set_n(1)});
  auto* db = static_cast<sqlite3*>(nullptr);
  BOOST_REQUIRE(sqlite3_open(folder.file().c_str(), &db) == SQLITE_OK);
  BOOST_REQUIRE(sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  const auto second = m.put(*s, 2, first, {set_n(2)}); // must not wait for the lock
  auto saved = std::promise<void>{};
  BOOST_TEST(s->when_saved(key, [&saved] { saved.set_value(); }));
  (void)m.put(*s, 3, second, {set_n(3)}); // queued after the second
  sqlite3_exec(db, "COMMIT", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  saved.get_future().get();
  wait_until_saved(*s);
  s->check(key);
  BOOST_TEST(open(folder.file())->head(key) == id_of(3));
}

BOOST_AUTO_TEST_CASE(concurrent_put_now_and_put_lose_no_checkpoints) {
  constexpr auto steps = 50;
  constexpr auto writers = 4;
  const auto folder = temporary_folder{};
  auto s = open(folder.file());
  const auto m = maker{usual_layout()};
  auto points = std::vector<ss::checkpoint_ptr>{nullptr};
  for (auto step = 1; step <= steps; ++step)
    points.push_back(m.make(step, points.back(), {set_n(step)}));
  points.erase(points.begin());
  auto all = std::vector<std::thread>{};
  for (auto t = 0; t < writers; ++t)
    all.emplace_back([&s, &points, t] {
      const auto k = ss::thread_key{"t" + std::to_string(t), ""};
      for (const auto& point : points)
        t == 0 ? s->put(k, point) : s->put_now(k, point);
    });
  for (auto& one : all)
    one.join();
  s.reset(); // writes the queue
  s = open(folder.file());
  for (auto t = 0; t < writers; ++t) {
    const auto k = ss::thread_key{"t" + std::to_string(t), ""};
    BOOST_TEST(s->list(k, {}, usual_layout()).size() == std::size_t{steps});
    BOOST_TEST(n_of(s->load(k, "", usual_layout())->checkpoint) == steps);
  }
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/sqlite_db.hpp"
#include "checkpoint/sqlite_places.hpp"
#include "support/file_size_limit.hpp"

#include <superstep/base/file_size_signal.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

using namespace superstep::detail;

// Zeros behind the log, for commits that are synced one by one.
BOOST_AUTO_TEST_SUITE(room_in_the_log)

namespace {

namespace fs = std::filesystem;

constexpr auto frame_bytes = std::uintmax_t{24 + 4'096};

database open(const std::string& path, bool survives_power_loss = true) {
  auto db = open_for_writing(path, std::chrono::seconds{5}, survives_power_loss, "");
  db.exec("CREATE TABLE IF NOT EXISTS numbers (n INTEGER)");
  return db;
}

void commit(database& db, int from, int count) {
  for (auto n = from; n < from + count; ++n) {
    db.exec("BEGIN IMMEDIATE");
    db.make_room();
    db.exec(("INSERT INTO numbers VALUES (" + std::to_string(n) + ")").c_str());
    db.exec("COMMIT");
  }
}

std::int64_t count_of(database& db) {
  return db.pragma("SELECT count(*) FROM numbers");
}

} // namespace

BOOST_AUTO_TEST_CASE(a_small_commit_finds_its_bytes_in_the_file) {
  const auto folder = temporary_folder{};
  auto db = open(folder.file());
  commit(db, 0, 2); // what a commit takes is known after the first
  const auto before = fs::file_size(folder.file() + "-wal");
  commit(db, 2, 20);
  BOOST_TEST(fs::file_size(folder.file() + "-wal") == before);
}

BOOST_AUTO_TEST_CASE(who_does_not_sync_makes_no_room) {
  const auto folder = temporary_folder{};
  auto db = open(folder.file(), false);
  commit(db, 0, 3);
  const auto before = fs::file_size(folder.file() + "-wal");
  commit(db, 3, 1);
  BOOST_TEST(fs::file_size(folder.file() + "-wal") == before + frame_bytes);
}

BOOST_AUTO_TEST_CASE(the_log_begins_again_and_does_not_grow_for_ever) {
  const auto folder = temporary_folder{};
  auto db = open(folder.file());
  commit(db, 0, 3'000); // of a frame each, at least
  BOOST_TEST(fs::file_size(folder.file() + "-wal") < 1'200 * frame_bytes);
  BOOST_TEST(count_of(db) == 3'000);
}

BOOST_AUTO_TEST_CASE(what_a_killed_process_leaves_is_read_up_to_its_last_commit) {
  const auto folder = temporary_folder{};
  auto db = open(folder.file());
  for (auto commits = 0; commits < 40; ++commits) {
    commit(db, commits, 1);
    for (const auto* end : {"", "-wal"}) // -shm is made anew from the log
      fs::copy_file(folder.file() + end, folder.file("left.db") + end,
                    fs::copy_options::overwrite_existing);
    auto left = open(folder.file("left.db"));
    BOOST_TEST(count_of(left) == commits + 1);
    BOOST_TEST(left.pragma("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = "
                           "'ok'") == 1);
  }
}

BOOST_AUTO_TEST_CASE(another_process_goes_on_behind_the_zeros_of_the_first) {
  const auto folder = temporary_folder{};
  auto one = open(folder.file());
  auto other = open(folder.file());
  for (auto n = 0; n < 200; n += 2) {
    commit(one, n, 1);
    commit(other, n + 1, 1);
  }
  BOOST_TEST(count_of(one) == 200);
  BOOST_TEST(count_of(other) == 200);
}

BOOST_AUTO_TEST_CASE(a_disk_without_room_for_zeros_may_have_it_for_the_commit) {
  const auto is_an_error = file_size_signal_blocked{};
  const auto folder = temporary_folder{};
  const auto log = folder.file() + "-wal";
  auto db = open(folder.file());
  commit(db, 0, 1);
  const auto limit = fs::file_size(log) + 4 * frame_bytes;
  {
    const auto tight = file_size_limit{limit};
    auto n = 1;
    while (fs::file_size(log) < limit) // until zeros are wanted that do not fit
      commit(db, n++, 1);
    commit(db, n, 2);
    BOOST_TEST(count_of(db) == n + 2);
  }
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// The space that log_space keeps at the end of the write-ahead log.
#include "checkpoint/sqlite_db.hpp"
#include "checkpoint/sqlite_fixtures.hpp"
#include "support/file_size_limit.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

namespace ss = superstep;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(sqlite_log_space)

namespace {

constexpr auto frame_bytes = std::uintmax_t{4'096} + 24;

std::unique_ptr<ss::detail::sqlite_database> open_file(const std::string& path,
                                                       bool survives_power_loss = true) {
  return ss::detail::open_for_writing(path, std::chrono::seconds{5}, survives_power_loss, "");
}

void add_row(ss::detail::sqlite_database& db, int no, int bytes = 100) {
  db.exec(("INSERT INTO facts (name, value) VALUES ('row " + std::to_string(no) + "', zeroblob(" +
           std::to_string(bytes) + "))")
              .c_str());
}

std::int64_t rows_in(ss::detail::sqlite_database& db) {
  return db.query_number("SELECT count(*) FROM facts WHERE name LIKE 'row %'");
}

/// Opens the database as if this process had been killed: with the files as they are now.
std::unique_ptr<ss::detail::sqlite_database> open_copy(const std::string& path,
                                                       const temporary_folder& other) {
  for (const auto* ending : {"", "-wal"})
    fs::copy_file(path + ending, other.file() + ending);
  return open_file(other.file());
}

} // namespace

BOOST_AUTO_TEST_CASE(log_grows_in_large_pieces) {
  const auto folder = temporary_folder{};
  const auto db = open_file(folder.file());
  auto sizes = std::set<std::uintmax_t>{};
  for (auto i = 0; i < 60; ++i) {
    add_row(*db, i);
    sizes.insert(fs::file_size(folder.file() + "-wal"));
  }
  BOOST_TEST(sizes.size() <= 4U); // 32 frames or more per piece
}

BOOST_AUTO_TEST_CASE(log_without_syncs_has_no_space) {
  const auto folder = temporary_folder{};
  const auto db = open_file(folder.file(), false);
  for (auto i = 0; i < 5; ++i) {
    add_row(*db, i);
    BOOST_TEST(fs::file_size(folder.file() + "-wal") % frame_bytes == 32U); // the header
  }
}

BOOST_AUTO_TEST_CASE(killed_process_leaves_readable_log) {
  const auto folder = temporary_folder{};
  const auto db = open_file(folder.file());
  for (auto i = 0; i < 50; ++i) {
    add_row(*db, i);
    if (i % 7 != 0)
      continue;
    const auto other = temporary_folder{};
    const auto copy = open_copy(folder.file(), other);
    BOOST_TEST(rows_in(*copy) == i + 1);
    add_row(*copy, 100); // and it can be continued
    BOOST_TEST(rows_in(*copy) == i + 2);
  }
}

BOOST_AUTO_TEST_CASE(log_starts_anew_after_thousand_frames) {
  const auto folder = temporary_folder{};
  const auto db = open_file(folder.file());
  for (auto i = 0; i < 80; ++i)
    add_row(*db, i, 30 * 4'096); // about 30 frames
  BOOST_TEST(fs::file_size(folder.file() + "-wal") < 1'300U * frame_bytes);
  BOOST_TEST(fs::file_size(folder.file()) > 1'000U * 4'096);
  BOOST_TEST(rows_in(*db) == 80);
}

BOOST_AUTO_TEST_CASE(two_connections_append_after_the_space) {
  const auto folder = temporary_folder{};
  const auto one = open_file(folder.file());
  const auto two = open_file(folder.file());
  for (auto i = 0; i < 120; i += 2) {
    add_row(*one, i);
    add_row(*two, i + 1, i % 3 == 0 ? 20'000 : 100);
    BOOST_TEST(rows_in(*one) == i + 2);
  }
  const auto other = temporary_folder{};
  BOOST_TEST(rows_in(*open_copy(folder.file(), other)) == 120);
}

BOOST_AUTO_TEST_CASE(commit_that_fits_succeeds_if_space_does_not) {
  const auto folder = temporary_folder{};
  const auto db = open_file(folder.file());
  add_row(*db, 0);
  const auto usual = std::signal(SIGXFSZ, SIG_IGN);
  {
    const auto log_size = fs::file_size(folder.file() + "-wal");
    const auto limit = file_size_limit{log_size + 4 * frame_bytes};
    add_row(*db, 1);
    BOOST_CHECK_THROW(add_row(*db, 2, 100'000), ss::checkpoint_error);
  }
  std::signal(SIGXFSZ, usual);
  add_row(*db, 3);
  BOOST_TEST(rows_in(*db) == 3);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <sqlite3.h>

/// The tables of format version 1, as created by that version. Must not be changed.
inline constexpr auto tables_of_version_1 = R"sql(
PRAGMA journal_mode = WAL;
BEGIN;
CREATE TABLE threads (
  no INTEGER PRIMARY KEY, thread TEXT NOT NULL, ns TEXT NOT NULL, created INTEGER NOT NULL,
  UNIQUE (thread, ns));
CREATE TABLE layouts (no INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE points (
  no INTEGER PRIMARY KEY, thread INTEGER NOT NULL, id TEXT NOT NULL, parent TEXT, base TEXT,
  step INTEGER NOT NULL, source INTEGER NOT NULL, layout INTEGER NOT NULL, chain INTEGER NOT NULL,
  whole INTEGER NOT NULL, made INTEGER NOT NULL, sum INTEGER NOT NULL, row BLOB NOT NULL);
CREATE UNIQUE INDEX points_by_id ON points (thread, id);
CREATE TABLE tasks (
  no INTEGER PRIMARY KEY, thread INTEGER NOT NULL, point TEXT NOT NULL, layout INTEGER NOT NULL,
  sum INTEGER NOT NULL, row BLOB NOT NULL);
CREATE INDEX tasks_by_point ON tasks (thread, point);
CREATE TABLE items (
  no INTEGER PRIMARY KEY, ns TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
  UNIQUE (ns, key));
PRAGMA application_id = 1397978224;
PRAGMA user_version = 1;
COMMIT;
)sql";

/// Runs SQL on a file through a separate connection. Returns the number in the first
/// column of the last row.
inline std::int64_t ask_sql(const std::string& path, const std::string& sql) {
  auto* db = static_cast<sqlite3*>(nullptr);
  auto found = std::int64_t{0};
  const auto take = [](void* into, int, char** values, char**) {
    if (values[0] != nullptr && values[0][0] >= '0' && values[0][0] <= '9')
      *static_cast<std::int64_t*>(into) = std::stoll(values[0]);
    return 0;
  };
  auto code = sqlite3_open(path.c_str(), &db);
  if (code == SQLITE_OK)
    code = sqlite3_exec(db, sql.c_str(), take, &found, nullptr);
  const auto text = std::string{sqlite3_errmsg(db)};
  sqlite3_close(db);
  if (code != SQLITE_OK)
    throw std::runtime_error{path + ": " + text};
  return found;
}

/// Creates a file of version 1 with the threads of a current file; the format of rows is the same.
inline void make_version_1(const std::string& path, const std::string& today) {
  static_cast<void>(
      ask_sql(path, tables_of_version_1 + ("ATTACH '" + today + "' AS today;") + R"sql(
INSERT INTO threads SELECT no, thread, ns, created FROM today.threads;
INSERT INTO layouts SELECT no, text FROM today.layouts;
INSERT INTO points SELECT no, thread, id, parent, base, step, source, layout, chain, whole, made,
  sum, row FROM today.points;
INSERT INTO tasks SELECT no, thread, point, layout, sum, row FROM today.tasks;
)sql"));
}

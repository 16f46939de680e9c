// SPDX-License-Identifier: Apache-2.0
#include "sqlite_db.hpp"

#include <array>

namespace superstep::detail {

namespace {

/// "SStp", in the header of the file: what tells our databases from others.
constexpr auto application = std::int64_t{0x53537470};

/// Number i brings a file of version i to version i + 1.
constexpr auto steps = std::array{R"sql(
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
)sql"};
constexpr auto version_of_today = static_cast<std::int64_t>(steps.size());

[[noreturn]] void refuse(const database& db, saver_errc code, const std::string& why) {
  throw saver_error{make_error_code(code),
                    "checkpoints in '" + db.path() + "': " + why + "; nothing was written to it"};
}

/// The version of the file; 0: it is empty.
std::int64_t version_of(database& db) {
  const auto whose = db.pragma("PRAGMA application_id");
  const auto version = db.pragma("PRAGMA user_version");
  if (whose == application && version > version_of_today)
    refuse(db, saver_errc::newer_format,
           "the file has format " + std::to_string(version) + ", this superstep knows up to " +
               std::to_string(version_of_today) + ": use the newer one");
  if (whose != application && db.pragma("SELECT count(*) FROM sqlite_schema") != 0)
    refuse(db, saver_errc::corrupt, "the file is a database, but not of superstep");
  return whose == application ? version : 0;
}

} // namespace

void open_schema(database& db) {
  if (version_of(db) == version_of_today)
    return;
  db.exec("BEGIN IMMEDIATE"); // another process may be at it as well: look again
  try {
    for (auto version = version_of(db); version < version_of_today; ++version)
      db.exec(steps[static_cast<std::size_t>(version)]);
    db.exec(("PRAGMA application_id = " + std::to_string(application)).c_str());
    db.exec(("PRAGMA user_version = " + std::to_string(version_of_today)).c_str());
    db.exec("COMMIT");
  } catch (const saver_error&) {
    db.roll_back();
    throw;
  }
}

database open_for_writing(const std::string& path, std::chrono::milliseconds busy_timeout,
                          bool survives_power_loss) {
  auto db = database{path, database::access::read_write, busy_timeout};
  open_schema(db);
  db.exec("PRAGMA journal_mode = WAL");
  db.exec(survives_power_loss ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  return db;
}

} // namespace superstep::detail

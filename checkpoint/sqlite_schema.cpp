// SPDX-License-Identifier: Apache-2.0
#include "sqlite_db.hpp"

#include <superstep/base/file_size_signal.hpp>
#include <superstep/checkpoint/sqlite_saver.hpp>

#include <array>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

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
)sql",
                                  R"sql(
CREATE TABLE effects (
  thread TEXT NOT NULL, key TEXT NOT NULL, ended INTEGER NOT NULL, sum INTEGER NOT NULL,
  row BLOB NOT NULL, PRIMARY KEY (thread, key)) WITHOUT ROWID;
CREATE TABLE outputs (
  no INTEGER PRIMARY KEY, scope TEXT NOT NULL, key TEXT NOT NULL, layout INTEGER NOT NULL,
  until INTEGER NOT NULL, row BLOB NOT NULL, UNIQUE (scope, key));
ALTER TABLE items ADD COLUMN ttl INTEGER NOT NULL DEFAULT 0;
ALTER TABLE items ADD COLUMN until INTEGER NOT NULL DEFAULT 0;
ALTER TABLE items ADD COLUMN meaning BLOB;
CREATE INDEX items_by_end ON items (until) WHERE until > 0;
CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
)sql",
                                  R"sql(
-- Rows are encrypted for their thread, too, and a file says when it is not encrypted (check_key).
)sql"};
constexpr auto version_of_today = static_cast<std::int64_t>(steps.size());
/// Files from this version on have the tables of today, and can be read as they are.
constexpr auto version_to_read = std::int64_t{2};

[[noreturn]] void refuse(const database& db, saver_errc code, const std::string& why) {
  throw saver_error{make_error_code(code),
                    "checkpoints in '" + db.path() + "': " + why + "; nothing was written to it"};
}

/// The version of the file; 0: it is empty. To be asked in a transaction: while another process
/// makes the file, one answer is from before and the next from after.
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

/// What is kept encrypted, to know the key again by.
constexpr auto proof = std::string_view{"superstep"};
constexpr auto proof_place = row_place{"fact", "key", {}, {}, true};

[[noreturn]] void refuse_key(const database& db, const std::string& why) {
  refuse(db, saver_errc::wrong_key, why);
}

[[noreturn]] void refuse_plain(const database& db) {
  refuse_key(db, "the file is not encrypted, and a key is given: export its threads into a new "
                 "file that is");
}

/// Whether the file says with which key it is encrypted, or that it is not; refuses another one.
bool has_its_key(database& db) {
  auto find = db.prepare("SELECT name, value FROM facts WHERE name IN ('key', 'plain') ORDER BY 1");
  if (!find.step())
    return false;
  if (find.text(0) == "plain" && db.cipher().is_on())
    refuse_plain(db);
  if (find.text(0) == "plain")
    return true;
  if (!db.cipher().is_on())
    refuse_key(db, "the file is encrypted, and no key is given");
  if (const auto found = db.cipher().open(find.bytes(1), proof_place); !found || *found != proof)
    refuse_key(db, "the file is encrypted with another key");
  return true;
}

/// Who writes to a file first says which it is, so that no other one writes otherwise: not even
/// into a file whose tables are still empty.
void say_key(database& db) {
  const auto* rows = "SELECT EXISTS (SELECT 1 FROM points) OR EXISTS (SELECT 1 FROM items) OR "
                     "EXISTS (SELECT 1 FROM outputs) OR EXISTS (SELECT 1 FROM effects)";
  if (db.cipher().is_on() && db.pragma(rows) != 0)
    refuse_plain(db);
  const auto sealed = db.cipher().seal(std::string{proof}, proof_place);
  auto add = db.prepare("INSERT INTO facts (name, value) VALUES (?1, ?2)");
  add.bind_text(1, db.cipher().is_on() ? "key" : "plain");
  add.bind_bytes(2, sealed);
  add.run();
}

/// A file is encrypted from its beginning with one key, or not at all.
void check_key(database& db) {
  if (has_its_key(db) || (db.is_read_only() && !db.cipher().is_on()))
    return;
  db.in_transaction("BEGIN IMMEDIATE", [&] {
    if (!has_its_key(db)) // another process may have been first
      say_key(db);
  });
}

} // namespace

const std::string& shared_file(const std::string& path) {
  if (path.empty() || path == ":memory:" || path.starts_with("file:"))
    throw saver_error{make_error_code(saver_errc::failed),
                      "checkpoints in '" + path +
                          "': is no path of a file: give one, or use a memory_saver for threads "
                          "that are not to last"};
  return path;
}

void open_schema(database& db) {
  auto version = std::int64_t{0};
  db.in_transaction("BEGIN", [&] { version = version_of(db); });
  if (version == version_of_today || (version >= version_to_read && db.is_read_only()))
    return;
  db.in_transaction("BEGIN IMMEDIATE", [&] {
    // Another process may be at it as well: look again.
    for (auto next = version_of(db); next < version_of_today; ++next)
      db.exec(steps[static_cast<std::size_t>(next)]);
    db.exec(("PRAGMA application_id = " + std::to_string(application)).c_str());
    db.exec(("PRAGMA user_version = " + std::to_string(version_of_today)).c_str());
  });
}

void claim(database& db, const std::string& owner) {
  db.in_transaction(owner.empty() ? "BEGIN" : "BEGIN IMMEDIATE", [&] {
    auto find = db.prepare("SELECT value FROM facts WHERE name = 'owner'");
    const auto has_owner = find.step();
    const auto found = has_owner ? std::string{find.bytes(0)} : std::string{};
    if (found == owner)
      return;
    if (has_owner)
      refuse(db, saver_errc::wrong_owner,
             "the file belongs to " + found + ": name another file, or move this one away");
    if (owner.empty())
      return;
    if (db.pragma("SELECT EXISTS (SELECT 1 FROM threads) OR EXISTS (SELECT 1 FROM items)") != 0)
      refuse(db, saver_errc::wrong_owner,
             "the file holds threads that " + owner +
                 " did not write: name another file, or move this one away");
    auto add = db.prepare("INSERT INTO facts (name, value) VALUES ('owner', ?1)");
    add.bind_bytes(1, owner);
    add.run();
  });
}

namespace {

/// Creates the file with mode 0600, unless it exists: SQLite would create it readable by all. What
/// cannot be created is reported by SQLite.
void create_private(const std::string& path) noexcept {
  const auto fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0)
    ::close(fd);
}

/// Who looks at a file that cannot be written makes SQLite's files beside it so, too: they would
/// keep everybody from writing when the file itself is allowed to be. They get its rights back.
void pass_on_rights(const std::string& path) noexcept {
  namespace fs = std::filesystem;
  auto failed = std::error_code{};
  const auto own = fs::status(path, failed).permissions();
  if (failed || (own & fs::perms::owner_write) == fs::perms::none)
    return;
  for (const auto* ending : {"-wal", "-shm"}) {
    const auto beside = fs::status(path + ending, failed);
    if (!failed && fs::is_regular_file(beside) &&
        (beside.permissions() & fs::perms::owner_write) == fs::perms::none)
      fs::permissions(path + ending, own, failed); // not ours to change: the error will say so
  }
}

} // namespace

database open_for_writing(const std::string& path, std::chrono::milliseconds busy_timeout,
                          bool survives_power_loss, std::string_view key) {
  const auto is_an_error = file_size_signal_blocked{};
  create_private(path);
  pass_on_rights(path);
  auto db = database{path, database::access::read_write, busy_timeout, row_cipher{key}};
  open_schema(db);
  db.exec_patiently("PRAGMA journal_mode = WAL");
  db.exec(survives_power_loss ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  check_key(db);
  return db;
}

} // namespace superstep::detail

namespace superstep {

std::optional<std::string> sqlite_owner(const std::string& path) {
  using detail::database;
  try {
    constexpr auto patience = std::chrono::milliseconds{1'000};
    auto db = database{path, database::access::read_only, patience, detail::row_cipher{{}}};
    auto find = db.prepare("SELECT value FROM facts WHERE name = 'owner'");
    return find.step() ? std::optional{std::string{find.bytes(0)}} : std::nullopt;
  } catch (const saver_error&) {
    return std::nullopt;
  }
}

} // namespace superstep

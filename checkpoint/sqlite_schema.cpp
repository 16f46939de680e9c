// SPDX-License-Identifier: Apache-2.0
// Opens database files: creates and migrates the tables, checks the format version, the encryption
// key and the owner, and sets file permissions. docs/checkpoint-format.md explains the tables.
#include "base/file_size_signal.hpp"
#include "row_key.hpp"
#include "sqlite_db.hpp"

#include <superstep/checkpoint/sqlite.hpp>

#include <array>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace superstep::detail {

namespace {

/// The `application_id` of superstep's databases, "SStp" in ASCII. SQLite stores it in the header
/// of the file; databases of other programs have another one.
constexpr auto application = std::int64_t{0x53537470};

/// The migrations: element i converts a file of version i to version i + 1. Elements that were
/// released must never be changed, because files in use were made with them.
constexpr auto migrations = std::array{R"sql(
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
-- Rows are bound to their thread when encrypted, and unencrypted files are marked (check_key).
)sql",
                                       R"sql(
-- Rows are compressed with Zstandard (row_bytes.hpp); earlier versions cannot read them.
)sql"};
constexpr auto current_version = static_cast<std::int64_t>(migrations.size());
/// The oldest version whose tables are the same as the current ones. A file of this version can be
/// read without a migration, for example if it is read-only.
constexpr auto oldest_readable_version = std::int64_t{2};

[[noreturn]] void refuse(const sqlite_database& db, checkpoint_errc code, const std::string& why) {
  throw checkpoint_error{make_error_code(code), "checkpoints in '" + db.name() + "': " + why +
                                                    "; nothing was written to it"};
}

/// Returns the version of the file; 0 if it is empty. @pre a transaction is open: without it,
/// another process might create the tables between the queries
std::int64_t version_of(sqlite_database& db) {
  const auto whose = db.query_number("PRAGMA application_id");
  const auto version = db.query_number("PRAGMA user_version");
  if (whose == application && version > current_version)
    refuse(db, checkpoint_errc::newer_format,
           "the file has format " + std::to_string(version) +
               ", but this version of superstep reads formats up to " +
               std::to_string(current_version) + ": use a newer version");
  if (whose != application && db.query_number("SELECT count(*) FROM sqlite_schema") != 0)
    refuse(db, checkpoint_errc::corrupt,
           "the file is the database of another program: specify another path");
  return whose == application ? version : 0;
}

} // namespace

const std::string& checked_file_path(const std::string& path) {
  if (path.empty() || path == ":memory:" || path.starts_with("file:"))
    throw checkpoint_error{make_error_code(checkpoint_errc::failed),
                           "checkpoints in '" + path +
                               "': not the path of a file: specify a path; in C++, "
                               "memory_checkpointer() keeps threads in memory"};
  return path;
}

void open_schema(sqlite_database& db) {
  auto version = std::int64_t{0};
  db.in_transaction(transaction::read, [&] { version = version_of(db); });
  if (version == current_version || (version >= oldest_readable_version && db.is_read_only()))
    return;
  db.in_transaction(transaction::write, [&] {
    // Read the version again: another process may have migrated the file since the first
    // transaction.
    for (auto next = version_of(db); next < current_version; ++next)
      db.exec(migrations[static_cast<std::size_t>(next)]);
    db.exec(("PRAGMA application_id = " + std::to_string(application)).c_str());
    db.exec(("PRAGMA user_version = " + std::to_string(current_version)).c_str());
  });
}

void claim(sqlite_database& db, const std::string& owner) {
  // An empty name only checks that the file has no owner, which needs no write transaction.
  db.in_transaction(owner.empty() ? transaction::read : transaction::write, [&] {
    auto find = db.prepare("SELECT value FROM facts WHERE name = 'owner'");
    const auto has_owner = find.step();
    const auto found = has_owner ? std::string{find.bytes(0)} : std::string{};
    if (found == owner)
      return;
    if (has_owner)
      refuse(db, checkpoint_errc::wrong_owner,
             "the file belongs to " + found + ": specify another file, or move this one away");
    if (owner.empty())
      return;
    if (db.query_number("SELECT EXISTS (SELECT 1 FROM threads) OR EXISTS (SELECT 1 FROM items)") !=
        0)
      refuse(db, checkpoint_errc::wrong_owner,
             "the file contains threads that " + owner +
                 " did not write: specify another file, or move this one away");
    auto add = db.prepare("INSERT INTO facts (name, value) VALUES ('owner', ?1)");
    add.bind_bytes(1, owner);
    add.run();
  });
}

namespace {

/// Creates the file with mode 0600 if it does not exist. SQLite would create a file that all users
/// can read. An error is ignored here, because SQLite reports it when it opens the file.
void create_private(const std::string& path) noexcept {
  const auto fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0)
    ::close(fd);
}

/// Makes the -wal and -shm files writable if the database is. SQLite creates these files with the
/// mode of the database. If the database was read-only then and is writable now, they would still
/// prevent writing.
void restore_file_modes(const std::string& path) noexcept {
  namespace fs = std::filesystem;
  auto failed = std::error_code{};
  const auto own = fs::status(path, failed).permissions();
  if (failed || (own & fs::perms::owner_write) == fs::perms::none)
    return;
  for (const auto* ending : {"-wal", "-shm"}) {
    const auto beside = fs::status(path + ending, failed);
    if (!failed && fs::is_regular_file(beside) &&
        (beside.permissions() & fs::perms::owner_write) == fs::perms::none)
      fs::permissions(path + ending, own, failed); // if this fails, SQLite reports it on writing
  }
}

} // namespace

std::unique_ptr<sqlite_database> open_for_writing(const std::string& path,
                                                  std::chrono::milliseconds busy_timeout,
                                                  bool survives_power_loss, std::string_view key) {
  // If the file-size limit is reached, the result must be an error, not a signal that ends the
  // process.
  const auto is_an_error = file_size_signal_blocked{};
  create_private(path);
  restore_file_modes(path);
  auto db = std::make_unique<sqlite_database>(path, sqlite_database::access::read_write,
                                              busy_timeout, row_cipher{key});
  open_schema(*db);
  db->use_log(survives_power_loss);
  check_key(*db, db->is_read_only());
  return db;
}

} // namespace superstep::detail

namespace superstep {

std::optional<std::string> sqlite_owner(const std::string& path) {
  using detail::sqlite_database;
  try {
    constexpr auto timeout = std::chrono::milliseconds{1'000};
    auto db =
        sqlite_database{path, sqlite_database::access::read_only, timeout, detail::row_cipher{{}}};
    auto find = db.prepare("SELECT value FROM facts WHERE name = 'owner'");
    return find.step() ? std::optional{std::string{find.bytes(0)}} : std::nullopt;
  } catch (const checkpoint_error&) {
    return std::nullopt;
  }
}

} // namespace superstep

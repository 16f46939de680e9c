// SPDX-License-Identifier: Apache-2.0
// Connections and statements. This file translates SQLite's error codes: every failure becomes a
// checkpoint_error with the path of the file, SQLite's message and advice.
#include "sqlite_db.hpp"

#include "base/file_size_signal.hpp"

#include <superstep/base/detail/assert.hpp>

#include <cerrno>
#include <limits>
#include <stdexcept>
#include <thread>
#include <utility>

#include <sqlite3.h>
#include <sys/stat.h>

namespace superstep::detail {

namespace {

checkpoint_errc code_of(int code) noexcept {
  switch (code & 0xff) {
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
    return checkpoint_errc::corrupt;
  default:
    return checkpoint_errc::failed;
  }
}

/// Whether an error means that there is no space left. SQLite reports SQLITE_FULL only for a full
/// disk. For an exceeded quota or file-size limit it reports an I/O error, and
/// sqlite3_system_errno() does not give the cause if a commit fails. So the cause is taken from
/// errno, which is cleared before each statement.
bool is_full(int code) noexcept {
  return (code & 0xff) == SQLITE_FULL ||
         ((code & 0xff) == SQLITE_IOERR && (errno == EFBIG || errno == EDQUOT || errno == ENOSPC));
}

/// Returns advice for the user. Earlier transactions are safe, unless the file is damaged.
const char* advice(int code) noexcept {
  if (is_full(code))
    return "the disk is full, or a quota or file-size limit is reached: make room, then run again "
           "to resume; what was saved before is safe";
  switch (code & 0xff) {
  case SQLITE_READONLY:
  case SQLITE_PERM:
  case SQLITE_CANTOPEN:
    return "the file, its -wal and -shm files or their folder do not exist or cannot be written: "
           "check the path and the permissions of each; what was saved before is safe, nothing was "
           "written";
  case SQLITE_NOTADB:
    return "check the path; if it is right, the file is damaged: restore a copy of it, or specify "
           "a new file; nothing was overwritten";
  case SQLITE_CORRUPT:
    return "check the path; if it is right, the file is damaged: keep a copy, export the threads "
           "that can still be read, and start a new file; nothing was overwritten";
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return "another process has locked the file for longer than the busy timeout: run again; what "
           "was saved before is safe";
  case SQLITE_IOERR:
    return "disk I/O error: check the disk, then run again; what was saved before is safe";
  default:
    return "this transaction was not saved; what was saved before is safe";
  }
}

[[noreturn]] void throw_failed(sqlite3* db, int code, const std::string& path) {
  const auto* what_to_do = advice(code); // before the calls below, which may change errno
  const auto* text = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  throw checkpoint_error{make_error_code(code_of(code)),
                         "checkpoints in '" + path + "': " + text + " (" + what_to_do + ")"};
}

/// Runs SQL text. Clears errno first, for is_full().
int execute(sqlite3* db, const char* sql) noexcept {
  errno = 0;
  return sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
}

void check(sqlite3_stmt* s, int code, const std::string& path) {
  if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE)
    throw_failed(sqlite3_db_handle(s), code, path);
}

} // namespace

void sqlite_statement::finish(sqlite3_stmt* s) noexcept {
  sqlite3_finalize(s);
}

void sqlite_statement::bind(int place, std::int64_t n) {
  check(at_.get(), sqlite3_bind_int64(at_.get(), place, n), *path_);
}

void sqlite_statement::bind_text(int place, std::string_view text) {
  check(at_.get(),
        sqlite3_bind_text64(at_.get(), place, text.empty() ? "" : text.data(), text.size(),
                            SQLITE_STATIC, SQLITE_UTF8),
        *path_);
}

void sqlite_statement::bind_bytes(int place, std::string_view bytes) {
  check(at_.get(),
        sqlite3_bind_blob64(at_.get(), place, bytes.empty() ? "" : bytes.data(), bytes.size(),
                            SQLITE_STATIC),
        *path_);
}

void sqlite_statement::bind_null(int place) {
  check(at_.get(), sqlite3_bind_null(at_.get(), place), *path_);
}

bool sqlite_statement::step() {
  errno = 0;
  const auto code = sqlite3_step(at_.get());
  check(at_.get(), code, *path_);
  return code == SQLITE_ROW;
}

bool sqlite_statement::try_run() {
  const auto reset_at_end =
      std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>{at_.get(), &sqlite3_reset};
  errno = 0;
  const auto code = sqlite3_step(at_.get());
  if ((code & 0xff) == SQLITE_BUSY)
    return false;
  check(at_.get(), code, *path_);
  return true;
}

void sqlite_statement::reset() noexcept {
  sqlite3_reset(at_.get());
}

std::int64_t sqlite_statement::number(int column) const {
  return sqlite3_column_int64(at_.get(), column);
}

bool sqlite_statement::is_null(int column) const {
  return sqlite3_column_type(at_.get(), column) == SQLITE_NULL;
}

std::string_view sqlite_statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(at_.get(), column));
  return data == nullptr
             ? std::string_view{}
             : std::string_view{data,
                                static_cast<std::size_t>(sqlite3_column_bytes(at_.get(), column))};
}

std::string_view sqlite_statement::bytes(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(at_.get(), column));
  return data == nullptr
             ? std::string_view{}
             : std::string_view{data,
                                static_cast<std::size_t>(sqlite3_column_bytes(at_.get(), column))};
}

void sqlite_database::close(sqlite3* db) noexcept {
  // Closing the last connection copies the write-ahead log to the database. If that exceeds the
  // file-size limit, the result must be an error and not the signal SIGXFSZ, which ends the
  // process.
  const auto is_an_error = file_size_signal_blocked{};
  sqlite3_close_v2(db);
}

sqlite_database::sqlite_database(std::string path, access how,
                                 std::chrono::milliseconds busy_timeout, row_cipher cipher)
    : database{std::move(path), std::move(cipher)}, busy_timeout_{busy_timeout},
      at_{nullptr, &close} {
  if (busy_timeout.count() < 0 || busy_timeout.count() > std::numeric_limits<int>::max())
    throw std::invalid_argument{"busy_timeout must be from 0 to 24 days"};
  // Reject directories and special files here: SQLite reports a disk I/O error for them, and may
  // wait forever for a FIFO.
  struct stat info {};
  if (::stat(name().c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    throw checkpoint_error{
        make_error_code(code_of(SQLITE_NOTADB)),
        "checkpoints in '" + name() +
            "': " + (S_ISDIR(info.st_mode) ? "is a directory" : "is not a regular file") +
            ", so it cannot be a database; specify another path"};
  // NOMUTEX: one thread at a time uses a connection, so SQLite need not lock it.
  const auto flags =
      how == access::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  auto* db = static_cast<sqlite3*>(nullptr);
  const auto code = sqlite3_open_v2(name().c_str(), &db, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  at_.reset(db);
  if (code != SQLITE_OK)
    throw_failed(db, code, name());
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, static_cast<int>(busy_timeout.count()));
}

void sqlite_database::exec(const char* sql) {
  if (const auto code = execute(at_.get(), sql); code != SQLITE_OK)
    throw_failed(at_.get(), code, name());
}

/// Polls once per millisecond, because SQLite's own waiting does not apply to these statements.
void sqlite_database::exec_with_retry(const char* sql) {
  const auto end = std::chrono::steady_clock::now() + busy_timeout_;
  auto code = execute(at_.get(), sql);
  while ((code & 0xff) == SQLITE_BUSY && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    code = execute(at_.get(), sql);
  }
  if (code != SQLITE_OK)
    throw_failed(at_.get(), code, name());
}

bool sqlite_database::try_run(statement& s) {
  const auto restore = [this](sqlite3* db) {
    sqlite3_busy_timeout(db, static_cast<int>(busy_timeout_.count()));
  };
  const auto impatient = std::unique_ptr<sqlite3, decltype(restore)>{at_.get(), restore};
  // Without a timeout SQLite returns SQLITE_BUSY at once.
  sqlite3_busy_timeout(at_.get(), 0);
  return static_cast<sqlite_statement&>(s.held()).try_run();
}

bool sqlite_database::try_begin_write() {
  auto begin_write = prepare("BEGIN IMMEDIATE");
  return try_run(begin_write);
}

bool sqlite_database::is_in_transaction() const noexcept {
  return sqlite3_get_autocommit(at_.get()) == 0;
}

statement sqlite_database::prepare(std::string_view sql) {
  auto text = std::string{sql};
  std::erase(text, '@'); // tables are in the default schema
  auto* s = static_cast<sqlite3_stmt*>(nullptr);
  const auto code = sqlite3_prepare_v3(at_.get(), text.data(), static_cast<int>(text.size()),
                                       SQLITE_PREPARE_PERSISTENT, &s, nullptr);
  if (code != SQLITE_OK)
    throw_failed(at_.get(), code, name());
  return statement{std::make_unique<sqlite_statement>(s, name())};
}

/// All rows of the thread from the checkpoint on, newest first; the reader skips those that are not
/// in the chain. The known checkpoint, parameter 3, is not needed, because the rows are read one at
/// a time.
std::string sqlite_database::chain_sql(std::string_view columns) const {
  return "SELECT " + std::string{columns} +
         " FROM @points WHERE thread = ?1 AND id <= ?2 AND ?3 IS NOT NULL ORDER BY id DESC";
}

void sqlite_database::begin(transaction kind) {
  exec(kind == transaction::read ? "BEGIN" : "BEGIN IMMEDIATE");
}

void sqlite_database::commit() {
  exec("COMMIT");
}

void sqlite_database::use_log(bool survives_power_loss) {
  exec_with_retry("PRAGMA journal_mode = WAL");
  exec(survives_power_loss ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  if (survives_power_loss)
    log_space_.emplace(at_.get(), query_number("PRAGMA page_size"));
}

bool sqlite_database::is_read_only() const noexcept {
  return sqlite3_db_readonly(at_.get(), "main") == 1;
}

std::int64_t sqlite_database::last_row() const noexcept {
  return sqlite3_last_insert_rowid(at_.get());
}

std::int64_t sqlite_database::changes() const noexcept {
  return sqlite3_changes64(at_.get());
}

void sqlite_database::roll_back() noexcept {
  if (is_in_transaction())
    sqlite3_exec(at_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
// Checks of SQLite's indexes, which row_reader calls before it returns that something is missing.
#include "sqlite_reader.hpp"

#include "sqlite_db.hpp"

#include <utility>

namespace superstep::detail {

namespace {

checkpoint_error index_damaged(const database& db, std::string_view why) {
  return {make_error_code(checkpoint_errc::corrupt),
          "checkpoints in '" + db.name() + "': an index is damaged (" + std::string{why} +
              "), so checkpoints may be missing: keep a copy, and repair the file with: sqlite3 '" +
              db.name() + "' REINDEX; nothing was overwritten"};
}

} // namespace

sqlite_reader::sqlite_reader(const std::string& path, std::chrono::milliseconds busy_timeout,
                             row_cipher cipher)
    : row_reader{std::make_unique<sqlite_database>(path, sqlite_database::access::read_only,
                                                   busy_timeout, std::move(cipher))} {}

/// Checks the index of table `threads` when a thread is not found. A run would start such a thread
/// over, but a damaged index may hide an existing thread. One check per connection is enough,
/// because a file is usually damaged while no process has it open.
void sqlite_reader::check_threads() {
  if (are_threads_checked_)
    return;
  auto s = db().prepare("PRAGMA integrity_check(threads)");
  if (s.step() && s.text(0) != "ok")
    throw index_damaged(db(), s.text(0));
  are_threads_checked_ = true;
}

/// Checks that a thread without checkpoints in the index has no checkpoints in the table either.
/// This scans the table, but threads without checkpoints are rare. A single statement reads index
/// and table, so that both belong to the same snapshot: another connection may be writing the first
/// checkpoint.
void sqlite_reader::check_has_no_checkpoints(std::int64_t thread) {
  auto s = db().prepare("SELECT 1 FROM points NOT INDEXED WHERE thread = ?1 AND NOT EXISTS (SELECT "
                        "1 FROM points INDEXED BY points_by_id WHERE thread = ?1) LIMIT 1");
  s.bind(1, thread);
  if (s.step())
    throw index_damaged(db(), "rows of points are missing from points_by_id");
}

/// Checks that no damaged index hides rows of a thread, before the thread is exported. The export
/// must be complete, because the user may delete the file afterwards. Compares the number of rows
/// in each table with the number in its index. If a table itself is damaged, the later reading of
/// its rows fails.
void sqlite_reader::check_indexes(std::string_view thread_id) {
  const auto count = [&](const std::string& from) {
    auto s = db().prepare("SELECT count(*) FROM " + from +
                          " WHERE thread IN (SELECT no FROM threads WHERE thread = ?1)");
    s.bind_text(1, thread_id);
    return s.step() ? s.number(0) : 0;
  };
  for (const auto& [table, index] :
       {std::pair{"points", "points_by_id"}, std::pair{"tasks", "tasks_by_point"}})
    // one snapshot for both counts
    db().in_transaction(transaction::read, [&, table = table, index = index] {
      auto in_table = std::int64_t{0};
      try {
        in_table = count(std::string{table} + " NOT INDEXED");
      } catch (const checkpoint_error&) {
        return;
      }
      if (in_table != count(std::string{table} + " INDEXED BY " + index))
        throw index_damaged(db(), "rows of " + std::string{table} + " are missing from " + index);
    });
}

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
// Deletes the threads of a batch job. A job may have a million threads, so a transaction of its own
// for each of them would take hours.
#include "postgres_removal.hpp"

#include "postgres_db.hpp"

#include <superstep/base/detail/assert.hpp>

namespace superstep::detail {

namespace {

// All rows are found by an index. Without statistics, the planner might prefer to read all rows of
// all threads.
constexpr auto settings_sql = "set local enable_seqscan = off; set local enable_hashjoin = off; "
                              "set local enable_mergejoin = off";

/// Deletes the threads from ?1 on and before ?2, at most ?3 of them.
constexpr auto delete_sql =
    "WITH t AS (DELETE FROM @threads d USING (SELECT DISTINCT thread FROM @threads "
    "WHERE thread >= ?1 AND thread < ?2 ORDER BY thread LIMIT ?3) u "
    "WHERE d.thread = u.thread RETURNING d.no, d.thread), "
    "p AS (DELETE FROM @points WHERE thread IN (SELECT no FROM t)), "
    "k AS (DELETE FROM @tasks WHERE thread IN (SELECT no FROM t)), "
    "e AS (DELETE FROM @effects WHERE thread IN (SELECT thread FROM t)) "
    "SELECT count(*) FROM t";

} // namespace

void delete_threads_with_prefix(const std::string& url,
                                const postgres_checkpointer_options& options,
                                const std::string& prefix) {
  SUPERSTEP_ASSERT(!prefix.empty() && prefix.back() > 0 && prefix.back() < 0x7f);
  constexpr auto threads_max = 1'000; // writes of all processes wait for a transaction
  auto end = prefix;                  // the ids with the prefix come before it
  ++end.back();
  const auto db = open_postgres(checked_postgres_address(url, options.accepts_unverified_server),
                                options.encryption_key, options.reconnect_timeout);
  auto deleted = std::int64_t{0};
  do {
    db->in_transaction(transaction::write, [&] {
      db->exec("lock table @threads in exclusive mode");
      db->exec(settings_sql);
      auto s = db->prepare(delete_sql);
      s.bind_text(1, prefix);
      s.bind_text(2, end);
      s.bind(3, threads_max);
      deleted = s.step() ? s.number(0) : 0;
    });
  } while (deleted > 0);
}

} // namespace superstep::detail

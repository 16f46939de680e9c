// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exported_thread.hpp"
#include "row_reader.hpp"

#include <chrono>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// Operations on many rows: import, prune and deletion. row_checkpointer.cpp calls each of them in
// one transaction on the writer thread (write_queue::run()). The reader uses another connection,
// which sees the state before the transaction, so that it can read the bases of rewritten rows.
namespace superstep::detail {

/// Adds the rows of an exported thread. @throws checkpoint_error if the thread exists
void import_rows(database&, std::string_view thread_id, const exported_thread&);
/// The result of prune_thread().
struct prune_result {
  std::size_t checkpoints = 0;  ///< their number
  bool is_whole_thread = false; ///< whether nothing of the thread is left
};
/// Deletes old checkpoints of one thread; see checkpointer::prune().
[[nodiscard]] prune_result prune_thread(database&, row_reader&, const prune_options&,
                                        const std::string& thread_id);

/// Deletes the checkpoints whose metadata contains one of these run ids, and the checkpoints of the
/// subgraphs that they own. Returns the number of deleted checkpoints.
/// @param threads the threads to search
/// @pre the caller holds the leases on these threads
[[nodiscard]] std::size_t remove_runs(database&, row_reader&, const std::set<std::string>& threads,
                                      const std::vector<std::string>& run_ids);
/// Deletes all rows of a thread and its effect records.
void remove_thread(database&, std::string_view thread_id);

/// Inserts a task record, unless its checkpoint was deleted in the meantime. Otherwise a new
/// checkpoint that happens to get the same id would later get the record.
inline constexpr auto add_task_sql =
    "INSERT INTO @tasks (thread, point, layout, sum, row) SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS "
    "(SELECT 1 FROM @points WHERE thread = ?1 AND id = ?2)";
/// The checkpoint that a task record belongs to.
struct task_target {
  std::int64_t thread; ///< row number in table `threads`
  const thread_key& key;
  const std::string& point; ///< id of the checkpoint
  std::int64_t layout;      ///< row number in table `layouts`
};
/// Inserts a task record with the statement `add`, which was prepared from add_task_sql.
void add_task(database&, statement& add, const task_target&, std::string text);

/// Returns the current time in seconds since 1970-01-01 UTC.
[[nodiscard]] std::int64_t now_in_seconds();

} // namespace superstep::detail

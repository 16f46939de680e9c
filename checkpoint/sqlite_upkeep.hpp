// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sqlite_db.hpp"
#include "thread_text.hpp"

#include <superstep/checkpoint/sqlite_saver.hpp>

#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// What changes many rows at once; each inside one transaction of the writer.
namespace superstep::detail {

/// Throws saver_error when there is a thread of this name.
void import_rows(database&, std::string_view thread_id, const exported_thread&);
/// The number of checkpoints that went.
[[nodiscard]] std::size_t prune_rows(database&, const prune_options&);

/// Removes from these threads the checkpoints of runs, by the `run_id` of their metadata, and what
/// hangs below them; their number.
/// @pre nobody else writes the threads
[[nodiscard]] std::size_t remove_runs(database&, const std::set<std::string>& threads,
                                      const std::vector<std::string>& run_ids);
void remove_thread(database&, std::string_view thread_id);

/// A record of a task, of the checkpoint that it follows. Of one that is gone nothing is kept: its
/// id may be another's one day.
inline constexpr auto add_task_sql =
    "INSERT INTO tasks (thread, point, layout, sum, row) SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS "
    "(SELECT 1 FROM points WHERE thread = ?1 AND id = ?2)";
struct task_place {
  std::int64_t thread;
  const thread_key& key;
  const std::string& point;
  std::int64_t layout;
};
/// @param add add_task_sql, prepared
void add_task(database&, statement& add, const task_place&, std::string text);

[[nodiscard]] std::int64_t now_in_seconds();

} // namespace superstep::detail

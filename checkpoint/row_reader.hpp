// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint_codec.hpp"
#include "exported_thread.hpp"
#include "sql_database.hpp"

#include <superstep/checkpoint/checkpointer.hpp>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace superstep::detail {

/// Return the place of a row for its encryption; see row_place in row_cipher.hpp. @{
[[nodiscard]] inline row_place checkpoint_place(const thread_key& of, std::string_view id) {
  return {"point", id, of.thread_id, of.ns, true};
}
[[nodiscard]] inline row_place task_place(const thread_key& of, std::string_view point_id) {
  return {"task", point_id, of.thread_id, of.ns, true};
}
[[nodiscard]] inline row_place effect_place(std::string_view thread_id, std::string_view key) {
  return {"effect", key, thread_id};
}
/// @}

/// Queries for the text of a layout by its row number, and for the row number by the text. The
/// first one reads the table, the second one its index. @{
inline constexpr auto layout_sql = "SELECT text FROM @layouts WHERE no = ?1";
inline constexpr auto find_layout_sql = "SELECT no FROM @layouts WHERE text = ?1";
/// @}
/// Returns the error for a layout whose text in the table differs from the text in the index.
[[nodiscard]] checkpoint_error layout_damaged(const database&);

/// A row of the table `points`, which contains the checkpoints.
struct stored_checkpoint {
  std::int64_t no = 0;
  checkpoint_header header;
  std::string base;        ///< id of the base; empty if the row is whole
  std::int64_t layout = 0; ///< row number in the table `layouts`
  std::int64_t chain = 0;  ///< bytes of all rows from the last whole row to this row
  std::int64_t whole = 0;  ///< size in bytes of the whole row that was measured last
  json::object row;        ///< the decoded JSON
};

/// A loaded checkpoint, with the data that is needed to write the next checkpoint as a delta to it.
struct loaded_checkpoint {
  saved_checkpoint saved;
  std::int64_t no = 0;         ///< row number in the table `points`
  std::int64_t chain = 0;      ///< see stored_checkpoint
  std::int64_t whole = 0;      ///< see stored_checkpoint
  bool is_same_layout = false; ///< whether the row was written with the layout of the loading graph
  record_index index{};        ///< finds records in `saved.tasks`
  /// For the newest checkpoint of a thread: the number of rows in the table `tasks` that `saved`
  /// contains; -1 if unknown.
  std::int64_t task_rows = 0;
};

/// Reads checkpoints from the tables of a database, through a connection of its own. Only one
/// operating-system thread at a time may use it. All functions throw checkpoint_error if the
/// database cannot be read or is damaged.
class row_reader {
public:
  explicit row_reader(std::unique_ptr<database> db);
  row_reader(const row_reader&) = delete;
  row_reader& operator=(const row_reader&) = delete;
  virtual ~row_reader() = default;

  [[nodiscard]] std::optional<loaded_checkpoint> load(const thread_key&, std::string_view id,
                                                      const layout_ptr& as);
  [[nodiscard]] std::vector<saved_checkpoint> list(const thread_key&, const checkpoint_query&,
                                                   const layout_ptr& as);
  [[nodiscard]] std::optional<effect_record> find_effect(std::string_view thread_id,
                                                         std::string_view key);
  struct head_row {
    std::int64_t no = 0;
    std::string id;
    std::int64_t task_rows = 0; ///< number of its rows in the table `tasks`
  };
  /// Returns the row number and the id of the newest checkpoint; the number is 0 if there is none.
  [[nodiscard]] head_row head(const thread_key&);
  /// Returns a checkpoint as a whole row, after applying all deltas.
  /// @pre the checkpoint exists
  [[nodiscard]] stored_checkpoint whole_row(const thread_key&, std::string_view id);
  /// Returns the row of a checkpoint, without the rows that it is a delta to; nullopt if it does
  /// not exist.
  [[nodiscard]] std::optional<stored_checkpoint> row(const thread_key&, std::string_view id);
  [[nodiscard]] std::optional<json::object> show(const thread_key&, std::string_view id);
  [[nodiscard]] std::vector<json::object> history(const thread_key&, const checkpoint_query&);
  /// Returns all rows of one namespace that are not damaged, oldest first.
  [[nodiscard]] std::vector<stored_checkpoint> readable_rows(const thread_key&);
  /// Returns the ids of the threads that have checkpoints of these runs.
  [[nodiscard]] std::set<std::string> threads_of_runs(const std::vector<std::string>& run_ids);
  /// Returns the rows of a thread. Throws checkpoint_error{failed} if it does not exist.
  /// @param last the newest checkpoint that cut_thread() keeps; later rows, which may be damaged,
  ///   are not read. Empty for all rows
  [[nodiscard]] exported_thread export_rows(std::string_view thread_id, std::string_view last = {});
  /// Returns the ids of all threads, sorted.
  [[nodiscard]] std::vector<std::string> thread_ids();
  [[nodiscard]] std::vector<thread_summary> threads(std::string_view after, std::size_t limit);

protected:
  [[nodiscard]] database& db() noexcept { return db_; }

private:
  // A database that can lose rows from an index without an error overrides the following checks.

  /// Called when a thread is not found.
  virtual void check_threads() {}
  /// Called when a thread has no checkpoints.
  virtual void check_has_no_checkpoints(std::int64_t /*thread*/) {}
  /// Called before a thread is exported.
  virtual void check_indexes(std::string_view /*thread_id*/) {}

  /// Returns the number of a thread and namespace; 0 if it does not exist.
  [[nodiscard]] std::int64_t thread_no(const thread_key&);
  [[nodiscard]] stored_checkpoint row_of(statement&, const thread_key&);
  [[nodiscard]] std::optional<stored_checkpoint> row_at(std::int64_t thread, std::string_view id,
                                                        const thread_key&);
  /// Returns the rows that make up a checkpoint, oldest first. They start with the last whole row;
  /// if the chain contains the row `known`, they start after it. Returns no rows if the checkpoint
  /// does not exist.
  /// @param id the checkpoint; empty for the newest
  /// @param known a checkpoint whose folded state the caller has; may be empty
  [[nodiscard]] std::vector<stored_checkpoint> chain_of(std::int64_t thread, std::string_view id,
                                                        std::string_view known, const thread_key&);
  /// Applies rows, which are sorted oldest first, to a checkpoint.
  void fold(folded_checkpoint& into, std::vector<stored_checkpoint>& rows, const thread_key&);
  struct stored_task {
    std::int64_t layout;
    json::value row;
  };
  [[nodiscard]] std::vector<stored_task> tasks_of(std::int64_t thread, const std::string& id,
                                                  const thread_key&);
  /// Whether the index of the table `points` contains a checkpoint.
  [[nodiscard]] bool is_indexed(std::int64_t thread, std::string_view id);
  /// Returns the ids of the checkpoints that the query selects, newest first.
  [[nodiscard]] std::vector<std::string> ids_of(std::int64_t thread, const checkpoint_query&,
                                                const thread_key&);
  [[nodiscard]] saved_checkpoint read(const stored_checkpoint&, const folded_checkpoint&,
                                      std::int64_t thread, const layout_ptr& as, const thread_key&);
  struct known_layout {
    std::string text;
    stored_layout names;
  };
  [[nodiscard]] const known_layout& layout(std::int64_t no);
  [[nodiscard]] json::object describe(const thread_key&, const stored_checkpoint&);

  std::unique_ptr<database> owned_;
  database& db_;
  statement find_thread_;
  statement find_head_;
  statement chain_;
  statement next_;
  statement row_;
  statement tasks_;
  statement layout_;
  statement find_layout_;
  statement effect_;
  std::map<std::int64_t, known_layout> layouts_;
};

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "point_codec.hpp"
#include "sqlite_db.hpp"
#include "thread_text.hpp"

#include <superstep/checkpoint/saver.hpp>
#include <superstep/checkpoint/sqlite_saver.hpp>

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace superstep::detail {

/// Which row it is that stands there, for who encrypts it. @{
[[nodiscard]] inline row_place place_of_point(const thread_key& of, std::string_view id) {
  return {"point", id, of.thread_id, of.ns, true};
}
[[nodiscard]] inline row_place place_of_task(const thread_key& of, std::string_view point_id) {
  return {"task", point_id, of.thread_id, of.ns, true};
}
[[nodiscard]] inline row_place place_of_effect(std::string_view thread_id, std::string_view key) {
  return {"effect", key, thread_id};
}
/// @}

/// The text of a layout by its number, and the other way round. @{
inline constexpr auto layout_sql = "SELECT text FROM layouts WHERE no = ?1";
inline constexpr auto find_layout_sql = "SELECT no FROM layouts WHERE text = ?1";
/// @}
[[nodiscard]] saver_error layout_damaged(const database&);

/// A row of `points`.
struct stored_point {
  std::int64_t no = 0;
  point_head head;
  std::string base; ///< empty: the row is whole
  std::int64_t layout = 0;
  std::int64_t chain = 0; ///< bytes of the rows from the last whole one to this one
  std::int64_t whole = 0; ///< bytes of a whole row when it was measured last
  json::object row;
};

/// A checkpoint as it was loaded, and what the next delta on it needs to know.
struct loaded_point {
  saved_checkpoint saved;
  std::int64_t no = 0;
  std::int64_t chain = 0;
  std::int64_t whole = 0;
  bool is_same_layout = false; ///< its row has the layout that it was read for
  record_index index{};        ///< of saved.tasks
};

/// Reads the tables. Its own connection; used by one thread at a time.
class sqlite_reader {
public:
  sqlite_reader(const std::string& path, std::chrono::milliseconds busy_timeout, row_cipher cipher);

  [[nodiscard]] std::optional<loaded_point> load(const thread_key&, std::string_view id,
                                                 const layout_ptr& as);
  [[nodiscard]] std::vector<saved_checkpoint> list(const thread_key&, const checkpoint_query&,
                                                   const layout_ptr& as);
  [[nodiscard]] std::optional<effect_note> find_effect(std::string_view thread_id,
                                                       std::string_view key);
  struct head_row {
    std::int64_t no = 0;
    std::string id;
  };
  /// The newest row; no == 0: none.
  [[nodiscard]] head_row head(const thread_key&);
  /// A checkpoint with all deltas applied, as the row of one that is based on no other.
  /// @pre it is there
  [[nodiscard]] stored_point whole_row(const thread_key&, std::string_view id);
  [[nodiscard]] std::optional<json::object> show(const thread_key&, std::string_view id);
  [[nodiscard]] std::vector<json::object> history(const thread_key&, const checkpoint_query&);
  /// The rows of one namespace, oldest first; not those that are damaged.
  [[nodiscard]] std::vector<stored_point> readable_rows(const thread_key&);
  /// The threads with checkpoints of these runs.
  [[nodiscard]] std::set<std::string> threads_of_runs(const std::vector<std::string>& run_ids);
  [[nodiscard]] exported_thread export_rows(std::string_view thread_id);
  [[nodiscard]] std::vector<thread_summary> threads(std::string_view after, std::size_t limit);

private:
  /// 0: it is not there.
  [[nodiscard]] std::int64_t thread_no(const thread_key&);
  void check_threads();
  void check_no_points(std::int64_t thread);
  void check_indexes(std::string_view thread_id);
  [[nodiscard]] stored_point row_of(statement&, const thread_key&);
  [[nodiscard]] std::optional<stored_point> row_at(std::int64_t thread, std::string_view id,
                                                   const thread_key&);
  /// The rows that make up a checkpoint, oldest first, or those after `known` if that is among
  /// them; empty: there is none.
  [[nodiscard]] std::vector<stored_point> chain_of(std::int64_t thread, std::string_view id,
                                                   std::string_view known, const thread_key&);
  /// Applies rows, oldest first.
  void fold(held_point& into, std::vector<stored_point>& rows, const thread_key&);
  struct stored_task {
    std::int64_t layout;
    json::value row;
  };
  [[nodiscard]] std::vector<stored_task> tasks_of(std::int64_t thread, const std::string& id,
                                                  const thread_key&);
  /// Newest first, as many as are asked for.
  [[nodiscard]] std::vector<std::string> ids_of(std::int64_t thread, const checkpoint_query&,
                                                const thread_key&);
  [[nodiscard]] saved_checkpoint read(const stored_point&, const held_point&, std::int64_t thread,
                                      const layout_ptr& as, const thread_key&);
  struct known_layout {
    std::string text;
    stored_layout names;
  };
  [[nodiscard]] const known_layout& layout(std::int64_t no);
  [[nodiscard]] json::object describe(const thread_key&, const stored_point&);

  database db_;
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
  bool are_threads_checked_ = false;
};

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/saver.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

struct sqlite_saver_options {
  std::chrono::milliseconds busy_timeout{30'000}; ///< for a transaction of another process to end
  /// How long what is known of a task waits for its super-step to end, to be saved in one row.
  std::chrono::milliseconds linger{10};
  std::size_t queue_bytes_max = 16U << 20U; ///< given but not written yet; put() waits beyond it
  std::size_t batch_rows_max = 4'096;       ///< in one transaction
  std::size_t threads_max = 10'000;         ///< whose newest state is kept in memory as well
  /// Power may fail at any time: each transaction is on the disk before it counts. Off, the last
  /// ones may be lost then, but nothing is torn; a killed process loses nothing either way.
  bool survives_power_loss = true;
  /// 32 bytes, see encryption.hpp: rows are encrypted. Empty: they are not.
  std::string encryption_key{};
  /// The only user of the file, for example one batch job. It is written into a new file. A file
  /// with another owner is refused (saver_errc::wrong_owner), and so is a file without an owner
  /// that holds threads. Empty: a file that has an owner is refused. Not set: any file is accepted.
  std::optional<std::string> owner{};
};

/// The owner that a database names, see sqlite_saver_options::owner. Empty optional: the file does
/// not exist, is not a database of superstep, or has no owner. Does not write to it.
[[nodiscard]] std::optional<std::string> sqlite_owner(const std::string& path);

/// What a database holds of one thread.
struct thread_summary {
  std::string thread_id;
  std::int64_t created = 0;     ///< seconds since 1970
  std::int64_t checkpoints = 0; ///< with those of its subgraphs
  std::int64_t bytes = 0;
  std::string head; ///< of the outermost graph
};

/// What to keep of threads; all conditions that are set must allow a checkpoint to go.
struct prune_options {
  std::string thread_id;              ///< empty: all threads
  std::size_t keep_last = 1;          ///< of each namespace, and what these need of subgraphs
  std::chrono::seconds older_than{0}; ///< 0: whatever their age
  /// Also the newest checkpoint of a thread goes, and all of it, when that is old enough.
  bool whole_threads = false;
};

/// An exported thread that ends with a checkpoint of its outermost graph, before any task of the
/// step that follows (without an id: as it is): what a branch of its own is imported from. Throws
/// saver_error.
[[nodiscard]] std::string cut_thread(std::string_view exported, std::string_view at);

/// Keeps threads in an SQLite database: docs/checkpoint-format.md says what is in it.
///
/// One thread of its own writes, what all runs of the process have given meanwhile in one
/// transaction. A checkpoint is a row: what differs from the one before it. Several processes may
/// use one file.
class sqlite_saver final : public saver {
public:
  /// Opens or makes the database. Throws saver_error: the path, a file of something else, a newer
  /// format.
  explicit sqlite_saver(std::string path, sqlite_saver_options options = {});
  /// Writes what is left.
  ~sqlite_saver() override;

  std::optional<saved_checkpoint> load(const thread_key&, std::string_view id,
                                       const layout_ptr& as) override;
  std::vector<saved_checkpoint> list(const thread_key&, const checkpoint_query&,
                                     const layout_ptr& as) override;
  std::string head(const thread_key&) override;
  void put(const thread_key&, checkpoint_ptr) override;
  void put_now(const thread_key&, checkpoint_ptr) override;
  void put_task(const thread_key&, const checkpoint& of, task_record) override;
  std::optional<effect_note> find_effect(std::string_view thread_id, std::string_view key) override;
  void put_effect(std::string_view thread_id, std::string_view key,
                  std::optional<effect_note> note) override;
  void delete_thread(std::string_view thread_id) override;
  std::size_t delete_runs(const std::vector<std::string>& run_ids) override;
  bool when_saved(const thread_key&, std::function<void()> done) override;
  void check(const thread_key&) override;
  std::string export_thread(std::string_view thread_id) override;
  void import_thread(std::string_view thread_id, std::string_view bytes) override;
  void take(const std::string& thread_id, when_in_use,
            std::function<void(result<lease_ptr>)> done) override;

  /// Threads in the order of their ids, from the first after `after`.
  [[nodiscard]] std::vector<thread_summary> threads(std::string_view after = {},
                                                    std::size_t limit = 100);
  /// A checkpoint as JSON, without a graph that knows its types: `thread`, `ns`, `id`, `parent`,
  /// `source`, `step`, `graph`, `values`, `next` nodes, `tasks` as they were recorded.
  [[nodiscard]] std::optional<json::object> show(const thread_key&, std::string_view id = {});
  /// The same without values and tasks, newest first.
  [[nodiscard]] std::vector<json::object> history(const thread_key&, const checkpoint_query&);
  /// Forgets old checkpoints; how many. What is kept can be gone on from as before: an interrupt
  /// that waits stands on the newest checkpoint, and deltas are turned into whole rows first.
  std::size_t prune(const prune_options&);
  /// Transactions and rows written so far.
  struct counts {
    std::uint64_t transactions = 0;
    std::uint64_t rows = 0;
  };
  [[nodiscard]] counts written() const noexcept;

private:
  class impl;
  std::shared_ptr<impl> impl_;
};

/// Opens or makes a SQLite database that keeps threads, as a compile_options::checkpointer. Throws
/// saver_error: the path, a file of something else, a newer format.
[[nodiscard]] inline std::shared_ptr<saver> sqlite_checkpointer(std::string path,
                                                                sqlite_saver_options options = {}) {
  return std::make_shared<sqlite_saver>(std::move(path), std::move(options));
}

} // namespace superstep

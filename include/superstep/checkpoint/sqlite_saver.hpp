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

/// Options of an sqlite_saver.
struct sqlite_saver_options {
  /// Maximum time to wait for another process's transaction.
  std::chrono::milliseconds busy_timeout{30'000};
  /// Time for which task records wait for the end of their super-step, so that they are written in
  /// one row with its checkpoint. After this delay they are written separately.
  std::chrono::milliseconds task_flush_delay{10};
  std::size_t queue_bytes_max = 16U << 20U; ///< size of the write queue; beyond it, put() blocks
  std::size_t batch_rows_max = 4'096;       ///< maximum number of rows in one transaction
  std::size_t threads_max = 10'000; ///< number of threads whose newest state is cached in memory
  /// Whether each transaction is on the disk before it counts as saved. If false, a power failure
  /// may lose the latest transactions, but the file stays consistent; a killed process loses
  /// nothing in either case.
  bool survives_power_loss = true;
  /// 32 bytes, see encryption.hpp: rows are encrypted with this key. Empty for no encryption.
  std::string encryption_key{};
  /// The only user of the file, for example one batch job. The name is stored in a new file. A file
  /// with another owner is refused (saver_errc::wrong_owner), and so is a file without an owner
  /// that contains threads. If the name is empty, every file that has an owner is refused. If the
  /// option is not set, every file is accepted.
  std::optional<std::string> owner{};
};

/// Returns the owner stored in a database; see sqlite_saver_options::owner. Returns nullopt if the
/// file does not exist, is not a superstep database, or has no owner. Does not write to the file.
[[nodiscard]] std::optional<std::string> sqlite_owner(const std::string& path);

/// An overview of one thread in a database.
struct thread_summary {
  std::string thread_id;
  std::int64_t created = 0;     ///< seconds since 1970-01-01 UTC
  std::int64_t checkpoints = 0; ///< number of checkpoints, including those of subgraphs
  std::int64_t bytes = 0;       ///< size of their rows
  std::string head;             ///< id of the outermost graph's newest checkpoint
};

/// Selects checkpoints to delete. A checkpoint is deleted only if all conditions allow it.
struct prune_options {
  std::string thread_id;     ///< empty for all threads
  std::size_t keep_last = 1; ///< newest checkpoints kept in each namespace, with their subgraphs
  std::chrono::seconds older_than{0}; ///< minimum age of deleted checkpoints; 0 for any age
  /// Whether a thread whose newest checkpoint is old enough is deleted entirely.
  bool whole_threads = false;
};

/// Truncates an exported thread, for example to import it as the start of a new branch.
/// @param exported text from saver::export_thread()
/// @param at id of a checkpoint of the outermost graph, which becomes the newest. Its task records
///   are dropped, so the next super-step runs completely. If empty, the thread is not truncated
/// @return the exported thread without later checkpoints
/// @throws saver_error if there is no such checkpoint or the text is damaged
[[nodiscard]] std::string cut_thread(std::string_view exported, std::string_view at);

/// A checkpointer that stores threads in an SQLite database; docs/checkpoint-format.md describes
/// the tables. Several processes may use one file. See saver for the contract of the inherited
/// functions.
///
/// One writer thread per object writes the checkpoints of all runs. It writes everything that is
/// queued in one transaction, so that many runs share one disk sync. A checkpoint is one row,
/// usually a delta to the previous checkpoint.
class sqlite_saver final : public saver {
public:
  /// Opens or creates the database, and starts the writer thread.
  /// @param path path of the file; not empty, ":memory:" or a "file:" URI
  /// @throws saver_error if the path cannot be opened, the file is not a superstep database or has
  /// a
  ///   newer format, the key does not match, or the file has another owner
  explicit sqlite_saver(std::string path, sqlite_saver_options options = {});
  /// Writes what is queued and stops the writer thread. Runs that still wait for a lease get
  /// saver_errc::in_use.
  ~sqlite_saver() override;

  std::optional<saved_checkpoint> load(const thread_key&, std::string_view id,
                                       const layout_ptr& as) override;
  std::vector<saved_checkpoint> list(const thread_key&, const checkpoint_query&,
                                     const layout_ptr& as) override;
  std::string head(const thread_key&) override;
  void put(const thread_key&, checkpoint_ptr) override;
  void put_now(const thread_key&, checkpoint_ptr) override;
  void put_task(const thread_key&, const checkpoint& parent, task_record) override;
  std::optional<effect_record> find_effect(std::string_view thread_id,
                                           std::string_view key) override;
  void put_effect(std::string_view thread_id, std::string_view key,
                  std::optional<effect_record> record) override;
  void delete_thread(std::string_view thread_id) override;
  std::size_t delete_runs(const std::vector<std::string>& run_ids) override;
  bool when_saved(const thread_key&, std::function<void()> done) override;
  void check(const thread_key&) override;
  std::string export_thread(std::string_view thread_id) override;
  void import_thread(std::string_view thread_id, std::string_view bytes) override;
  void take(const std::string& thread_id, when_in_use,
            std::function<void(result<lease_ptr>)> done) override;

  /// Returns threads sorted by id.
  /// @param after only ids greater than this one; empty for all
  /// @param limit maximum number
  [[nodiscard]] std::vector<thread_summary> threads(std::string_view after = {},
                                                    std::size_t limit = 100);
  /// Returns a checkpoint as JSON, without the graph that defines its types. Members: `thread`,
  /// `ns`, `id`, `parent`, `source`, `step`, `graph`, `metadata`, `values`, `next` (node names) and
  /// `tasks` (stored records, see docs/checkpoint-format.md).
  /// @param id empty for the newest checkpoint
  /// @return nullopt if there is no such checkpoint
  [[nodiscard]] std::optional<json::object> show(const thread_key&, std::string_view id = {});
  /// Returns the selected checkpoints in the form of show() without `values` and `tasks`, newest
  /// first.
  [[nodiscard]] std::vector<json::object> history(const thread_key&, const checkpoint_query&);
  /// Deletes old checkpoints. All remaining ones can be resumed as before: pending interrupts
  /// belong to the newest checkpoint, and rows based on a deleted one are first rewritten as whole
  /// rows. The file does not shrink; SQLite reuses the space.
  /// @return the number of deleted checkpoints
  std::size_t prune(const prune_options&);
  /// Statistics of this object since it was opened.
  struct counts {
    std::uint64_t transactions = 0;
    std::uint64_t rows = 0;
  };
  /// Returns the number of transactions and rows written so far.
  /// Returns the number of transactions and rows written so far.
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

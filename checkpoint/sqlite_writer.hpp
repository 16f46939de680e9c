// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sqlite_db.hpp"
#include "sqlite_file_checkpointer.hpp"
#include "sqlite_reader.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace superstep::detail {

// The write queue of an sqlite_file_checkpointer, and the in-memory state of threads that both
// share. sqlite_file_checkpointer.cpp converts checkpoints to rows and enqueues the rows.
// sqlite_writer writes the queue in batches, with one transaction per batch.
struct thread_state;

/// The in-memory state of one namespace of a thread: the newest checkpoint, and task records that
/// are not written yet.
struct namespace_head {
  thread_key key;
  /// Whether `newest` is up to date: it is then the newest checkpoint, in the queue or in the
  /// database. If it contains no checkpoint, the thread has none.
  bool is_known = false;
  loaded_checkpoint newest; ///< with its task records
  /// Older checkpoints that were loaded recently. If a run starts a branch from one of them, its
  /// first checkpoint can be written as a delta.
  std::deque<loaded_checkpoint> branch_bases;
  /// JSON of task records that wait to be written in the row of the next checkpoint.
  std::vector<std::string> tasks;
  /// The time at which `tasks` are written to rows of their own if no checkpoint has followed.
  std::chrono::steady_clock::time_point tasks_due;
  bool is_written = false; ///< whether the holder of the lease has written to the namespace
  std::uint64_t last_used = 0;
  // Used only by the thread that is writing to the database.
  std::int64_t thread_no = 0; ///< row number in `threads`; 0 if unknown
  std::string written;        ///< id of the newest checkpoint in the database, as far as known
  std::uint64_t epoch = 0;    ///< value of sqlite_writer::epoch_ when `written` was verified
};
using namespace_head_ptr = std::shared_ptr<namespace_head>;

/// The in-memory state of one thread, with the namespaces of its graph and its subgraphs. After a
/// failed write, all later writes of the thread fail too, because they build on the failed one.
struct thread_state {
  std::string thread_id;
  std::map<std::string, namespace_head_ptr, std::less<>> namespaces; // by namespace
  std::size_t leases = 0;     ///< number of leases that runs of this process hold
  std::uint64_t enqueued = 0; ///< number of the last write that was enqueued
  std::uint64_t saved = 0;    ///< number of the last write that is durable or has failed
  std::uint64_t last_used = 0;
  std::optional<error> failed;  ///< the first failed write
  bool may_have_effects = true; ///< whether the database may contain effect records
  /// The number of the last write of each effect record, by the key of the effect.
  std::map<std::string, std::uint64_t, std::less<>> effects;
  std::uint64_t effects_ended = 0; ///< number of the last write that deletes all effect records
  /// Callbacks, each with the number of the write that it waits for.
  std::vector<std::pair<std::uint64_t, std::function<void()>>> on_saved;
};
using thread_state_ptr = std::shared_ptr<thread_state>;

/// A change of an effect record: a new record, or nullopt to erase the record.
struct effect_write {
  std::string key;
  std::optional<effect_record> record;
};

/// An entry of the write queue: a checkpoint, task records, or an effect record.
struct pending_write {
  thread_state_ptr thread;
  namespace_head_ptr head;  ///< one of the thread's namespaces
  std::uint64_t number = 0; ///< position among the writes of the thread
  bool is_checkpoint = false;
  /// The header of the checkpoint. If `is_checkpoint` is false, only `id` is set: the checkpoint to
  /// which the task records belong.
  checkpoint_header header;
  /// The id of the checkpoint that `row` is a delta to; empty if `row` is complete (see
  /// docs/checkpoint-format.md).
  std::string base;
  /// For a checkpoint: the id that the newest checkpoint in the database must have before this
  /// write; see check_heads().
  std::string before;
  std::shared_ptr<const std::string> layout;
  std::int64_t chain = 0; ///< see stored_checkpoint
  std::int64_t whole = 0; ///< see stored_checkpoint
  std::string row;        ///< JSON of a checkpoint, without task records
  /// JSON of task records. If the entry is a checkpoint, they belong to the previous checkpoint.
  std::vector<std::string> tasks;
  bool ends_effects = false; ///< whether this write also deletes the thread's effect records
  std::optional<effect_write> effect;

  /// Returns the approximate size in memory, to bound the queue.
  [[nodiscard]] std::size_t bytes() const noexcept;
};

/// The write queue of a database and the thread that writes it. If the queue is empty, a caller
/// that would only wait for its write can write on its own thread, which avoids two thread switches
/// (write_or_enqueue()). One thread at a time uses the database; `is_writing_` is true while one
/// does.
/// @par Lifetime
/// Shared by the checkpointer, its leases, and the writer thread until stop().
class sqlite_writer {
public:
  using clock = std::chrono::steady_clock;

  sqlite_writer(const std::string& path, const sqlite_checkpointer_options& options);
  /// Opens the database and starts the writer thread. @throws checkpoint_error
  static std::shared_ptr<sqlite_writer> start(const std::string& path,
                                              const sqlite_checkpointer_options& options);
  /// Writes the queue and ends the thread. A callback on the writer thread may release the last
  /// reference to the checkpointer and thus call this. The thread then ends after the callback.
  void stop();
  sqlite_writer(const sqlite_writer&) = delete;
  sqlite_writer& operator=(const sqlite_writer&) = delete;

  /// Protects the queue and all thread_state objects.
  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }

  // The caller of the following functions, up to wait_for(), must hold the mutex.

  /// Adds a write to the queue.
  void enqueue(pending_write&&);
  /// Writes on the calling thread if nothing else is being written or queued; enqueues otherwise.
  /// Releases the lock while it writes.
  void write_or_enqueue(std::unique_lock<std::mutex>&, pending_write&&);
  /// Returns the JSON text of a layout, from a cache.
  [[nodiscard]] std::shared_ptr<const std::string> layout_text(const layout_ptr&);
  /// Schedules the task records of a namespace to be written separately, unless a checkpoint
  /// includes them within sqlite_checkpointer_options::task_flush_delay.
  void schedule_flush(const thread_state_ptr&, const namespace_head_ptr&);
  /// Enqueues the task records of a thread that still wait for a checkpoint.
  void flush(const thread_state_ptr&);
  /// Blocks while the queue is full.
  void wait_for_room(std::unique_lock<std::mutex>&);
  /// Blocks until all writes of a thread are durable or have failed.
  void wait_for(std::unique_lock<std::mutex>&, const thread_state_ptr&);

  /// Calls `what` on the writer thread at a given time, or earlier if the writer stops. If it has
  /// stopped already, calls it at once on the calling thread.
  void run_at(clock::time_point when, std::function<void(bool is_stopping)> what);
  /// Runs a function on the writer thread, in a transaction of its own, after all queued writes.
  /// Waits until the function has returned, and rethrows its exception.
  void run(const std::function<void(database&)>&);
  [[nodiscard]] sqlite_file_checkpointer::counts counts() const noexcept {
    return {transactions_.load(), rows_.load()};
  }

private:
  /// A call of run(), which waits for the writer thread.
  struct maintenance_task {
    const std::function<void(database&)>* what;
    std::exception_ptr failed;
    bool is_done = false;
  };
  struct scheduled_flush {
    clock::time_point due;
    thread_state_ptr thread;
    namespace_head_ptr head;
  };

  void work();
  [[nodiscard]] bool wait_for_work(std::unique_lock<std::mutex>&);
  void enqueue_due_flushes(clock::time_point now);
  [[nodiscard]] std::vector<pending_write> take_batch();
  void write(std::span<pending_write>);
  [[nodiscard]] bool try_write_now(std::span<pending_write>) noexcept;
  [[nodiscard]] std::optional<error> try_to_write(std::span<pending_write>);
  void write_batch(std::span<pending_write>);
  void check_heads(std::span<pending_write>);
  void insert(const pending_write&);
  void insert_checkpoint(const pending_write&);
  void check_base(const pending_write&);
  void insert_tasks(const pending_write&);
  void insert_effect(const pending_write&);
  [[nodiscard]] std::int64_t thread_no(namespace_head&);
  [[nodiscard]] std::string head_of(std::int64_t thread_no);
  [[nodiscard]] std::int64_t layout_no(const std::shared_ptr<const std::string>&);
  void record_outcome(std::span<pending_write>, const std::optional<error>& failed);
  void release_database();
  [[nodiscard]] static std::vector<std::function<void()>> take_callbacks(std::span<pending_write>);
  void run_maintenance();
  [[nodiscard]] bool run_due_timer(std::unique_lock<std::mutex>&);
  void invalidate_numbers();

  const sqlite_checkpointer_options options_;
  database db_;
  statement find_thread_;
  statement add_thread_;
  statement find_layout_;
  statement layout_;
  statement add_layout_;
  statement add_checkpoint_;
  statement has_checkpoint_;
  statement add_task_;
  statement begin_effect_;
  statement end_effect_;
  statement forget_effect_;
  statement forget_effects_;
  statement find_head_;
  statement begin_;
  statement commit_;
  statement version_;
  std::map<std::string, std::int64_t, std::less<>> layouts_; ///< row numbers of layouts by text
  /// Incremented when another connection has committed, or our transaction was rolled back. In a
  /// new epoch, namespace_head::written must be verified again.
  std::uint64_t epoch_ = 0;
  std::int64_t data_version_ = -1;      ///< PRAGMA data_version in the current transaction
  std::int64_t last_data_version_ = -1; ///< in our last committed transaction; -1 if unknown

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable written_;
  std::deque<pending_write> queue_;
  std::deque<scheduled_flush> scheduled_flushes_;
  std::deque<maintenance_task*> maintenance_;
  std::multimap<clock::time_point, std::function<void(bool)>> timers_;
  std::size_t queued_bytes_ = 0;
  bool is_stopping_ = false;
  bool is_writing_ = false;        ///< whether a thread is writing; it does not hold the mutex
  bool is_worker_blocked_ = false; ///< whether the writer thread waits until is_writing_ is false
  std::map<layout_ptr, std::shared_ptr<const std::string>> texts_; ///< cache of layout_text()
  std::atomic<std::uint64_t> transactions_{0};
  std::atomic<std::uint64_t> rows_{0};
  std::thread thread_;
};

} // namespace superstep::detail

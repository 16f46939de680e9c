// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "row_checkpointer.hpp"
#include "row_reader.hpp"

#include <atomic>
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
#include <vector>

namespace superstep::detail {

// The write queue of a row_checkpointer, and the in-memory state of threads that both share.
// row_checkpointer.cpp converts checkpoints to rows and enqueues the rows. write_queue passes them
// in batches to the row_sink of the database, which writes a batch in one transaction.
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
  std::uint64_t epoch = 0;    ///< value of sqlite_sink::epoch_ when `written` was verified
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
  /// The id that the newest checkpoint of the namespace must have in the database before this
  /// write; see check_heads(). Set for each checkpoint; unset if the entry does not compare it.
  std::optional<std::string> before;
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

/// Writes the entries of a write_queue to a database. One thread at a time calls it.
class row_sink {
public:
  row_sink() = default;
  row_sink(const row_sink&) = delete;
  row_sink& operator=(const row_sink&) = delete;
  virtual ~row_sink() = default;

  /// Writes entries, and records the outcome of each.
  virtual void write(std::span<pending_write>) = 0;
  /// Writes entries on the thread of a caller, without waiting for the database. Returns false if
  /// the entries must be passed to write() instead, before all others.
  [[nodiscard]] virtual bool try_write_now(std::span<pending_write>) noexcept = 0;
  /// Calls a function in a transaction of its own that excludes other writers.
  virtual void run(const std::function<void(database&)>&) = 0;
  /// Returns the name of the database, for error texts.
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;

  /// Sets the mutex that protects thread_state objects.
  void set_mutex(std::mutex& states) noexcept { states_ = &states; }
  [[nodiscard]] row_checkpointer::counts counts() const noexcept {
    return {transactions_.load(), rows_.load()};
  }

protected:
  /// Marks writes as done. If they failed, marks their threads as failed.
  void record_outcome(std::span<pending_write>, const std::optional<error>& failed);
  /// Marks a thread as failed, so that its writes are skipped. The first failure remains.
  void fail(thread_state&, error why);
  void count_transaction(std::uint64_t rows) noexcept {
    ++transactions_;
    rows_ += rows;
  }

private:
  std::mutex* states_ = nullptr;
  std::atomic<std::uint64_t> transactions_{0};
  std::atomic<std::uint64_t> rows_{0};
};

/// Returns the text of a checkpoint's row, with the task records of the previous checkpoint.
[[nodiscard]] std::string complete_row(const pending_write&);
/// Returns the error of a run whose thread has another newest checkpoint than it expects.
[[nodiscard]] error written_by_another_run(const std::string& thread_id, const std::string& found,
                                           const std::string& expected);
/// Returns the error of a run that resumed from a checkpoint that was deleted.
[[nodiscard]] error base_was_deleted(const std::string& thread_id, const std::string& base);

/// The write queue of a database and the thread that writes it. If the queue is empty, a caller
/// that would only wait for its write can write on its own thread, which avoids two thread switches
/// (write_or_enqueue()). One thread at a time uses the database; `is_writing_` is true while one
/// does.
/// @par Lifetime
/// Shared by the checkpointer, its leases, and the writer thread until stop().
class write_queue {
public:
  using clock = std::chrono::steady_clock;

  write_queue(std::unique_ptr<row_sink> sink, const row_checkpointer_options& options);
  /// Starts the writer thread. @throws checkpoint_error
  static std::shared_ptr<write_queue> start(std::unique_ptr<row_sink> sink,
                                            const row_checkpointer_options& options);
  /// Writes the queue and ends the thread. A callback on the writer thread may release the last
  /// reference to the checkpointer and thus call this. The thread then ends after the callback.
  void stop();
  write_queue(const write_queue&) = delete;
  write_queue& operator=(const write_queue&) = delete;

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
  /// includes them within row_checkpointer_options::task_flush_delay.
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
  [[nodiscard]] row_checkpointer::counts counts() const noexcept { return sink_->counts(); }

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
  [[nodiscard]] bool enqueue_due_flushes(clock::time_point now);
  [[nodiscard]] std::vector<pending_write> take_batch();
  void release_database();
  [[nodiscard]] static std::vector<std::function<void()>> take_callbacks(std::span<pending_write>);
  void run_maintenance();
  [[nodiscard]] bool run_due_timers(std::unique_lock<std::mutex>&);

  const row_checkpointer_options options_;
  std::unique_ptr<row_sink> sink_;

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable written_;
  std::deque<pending_write> queue_;
  std::deque<scheduled_flush> scheduled_flushes_;
  bool looks_at_flushes_ = false; ///< whether the writer thread wakes without a notification
  std::deque<maintenance_task*> maintenance_;
  std::multimap<clock::time_point, std::function<void(bool)>> timers_;
  std::size_t queued_bytes_ = 0;
  bool is_stopping_ = false;
  bool is_writing_ = false;        ///< whether a thread is writing; it does not hold the mutex
  bool is_worker_blocked_ = false; ///< whether the writer thread waits until is_writing_ is false
  std::map<layout_ptr, std::shared_ptr<const std::string>> texts_; ///< cache of layout_text()
  std::thread thread_;
};

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sqlite_db.hpp"
#include "sqlite_reader.hpp"

#include <superstep/checkpoint/sqlite_saver.hpp>

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

struct book;

/// What is known of one thread_key.
struct cursor {
  thread_key key;
  bool is_known = false;          ///< `head` is what the database and the queue have
  loaded_point head;              ///< the newest, with its tasks; null: none
  std::deque<loaded_point> sides; ///< older ones that were loaded lately, to start branches from
  std::vector<std::string> tasks; ///< JSON, given and not queued yet; of the head
  std::chrono::steady_clock::time_point tasks_due; ///< when they are written by themselves
  bool is_written = false; ///< by the run that has the thread: `head` is its own
  std::uint64_t last_used = 0;
  // Of the writer, under the lock.
  std::int64_t thread_no = 0;
  std::string written;     ///< id of the newest row in the database
  std::uint64_t epoch = 0; ///< of the writer's, when that was looked at last
};
using cursor_ptr = std::shared_ptr<cursor>;

/// What is known of one thread: its graph's cursor and those of its subgraphs. It fails as one: a
/// row is not to be written after one that could not be.
struct book {
  std::string thread_id;
  std::map<std::string, cursor_ptr, std::less<>> cursors; // by namespace
  std::size_t leases = 0; ///< given out in this process: nobody else may change a head
  std::uint64_t given = 0;
  std::uint64_t saved = 0;
  std::uint64_t last_used = 0;
  std::optional<error> failed;
  bool may_have_effects = true; ///< notes in the database: those of an earlier process, too
  std::map<std::string, std::uint64_t, std::less<>> effects; ///< their last jobs, by key
  std::uint64_t effects_ended = 0;                           ///< the job that forgets them
  std::vector<std::pair<std::uint64_t, std::function<void()>>> waiting;
};
using book_ptr = std::shared_ptr<book>;

/// A note of an effect, to be written.
struct effect_job {
  std::string key;
  std::optional<effect_note> note;
};

/// Something to be written: a checkpoint, what is known of tasks, or a note of an effect.
struct job {
  book_ptr of;
  cursor_ptr at; ///< of the book
  std::uint64_t number = 0;
  bool is_point = false;
  point_head head; ///< of tasks: the id alone
  std::string base;
  std::string before; ///< the newest id there must be
  std::shared_ptr<const std::string> layout;
  std::int64_t chain = 0;
  std::int64_t whole = 0;
  std::string row;                ///< of a point
  std::vector<std::string> tasks; ///< of a point: those of the step before it
  bool ends_effects = false;      ///< notes of the thread go: the outputs that they led to are kept
  std::optional<effect_job> effect;

  [[nodiscard]] std::size_t bytes() const noexcept;
};

/// Who writes, one thread at a time, and the queue: the writer's own thread, or that of somebody
/// who would only wait for it.
class sqlite_writer {
public:
  using clock = std::chrono::steady_clock;

  sqlite_writer(const std::string& path, const sqlite_saver_options& options);
  /// Starts the thread, which keeps the writer until stop().
  static std::shared_ptr<sqlite_writer> start(const std::string& path,
                                              const sqlite_saver_options& options);
  /// Writes what is left and ends the thread. Also from a callback, which runs on that thread and
  /// may hold the last reference to the saver: the thread then ends after it.
  void stop();
  sqlite_writer(const sqlite_writer&) = delete;
  sqlite_writer& operator=(const sqlite_writer&) = delete;

  /// Guards books and queue.
  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }

  // Under the lock.
  void give(job&&);
  /// Writes it on the calling thread, if nothing else is being written or waits to be, and gives it
  /// to the writer's otherwise. Gives up the lock meanwhile.
  void give_now(std::unique_lock<std::mutex>&, job&&);
  /// The text of a layout, made once.
  [[nodiscard]] std::shared_ptr<const std::string> text_of(const layout_ptr&);
  /// Tasks of a cursor are to be written by themselves if nothing takes them along in time.
  void linger(const book_ptr&, const cursor_ptr&);
  /// Hands over what still lingers of a thread.
  void flush(const book_ptr&);
  /// Waits until there is room in the queue.
  void wait_for_room(std::unique_lock<std::mutex>&);
  /// Waits until all that was given for a thread was written or has failed.
  void wait_for(std::unique_lock<std::mutex>&, const book_ptr&);

  /// Calls back on the writer's thread, once the time has come or when the writer stops.
  void later(clock::time_point when, std::function<void(bool is_stopping)> what);
  /// Runs something in a transaction of its own and waits for it. Throws what it throws.
  void run(const std::function<void(database&)>&);
  [[nodiscard]] sqlite_saver::counts counts() const noexcept {
    return {transactions_.load(), rows_.load()};
  }

private:
  struct errand {
    const std::function<void(database&)>* what;
    std::exception_ptr failed;
    bool is_done = false;
  };
  struct lingering {
    clock::time_point due;
    book_ptr of;
    cursor_ptr at;
  };

  void work();
  [[nodiscard]] bool wait_for_work(std::unique_lock<std::mutex>&);
  void take_lingering(clock::time_point now);
  [[nodiscard]] std::vector<job> take_batch();
  void write(std::span<job>);
  [[nodiscard]] bool write_at_once(std::span<job>) noexcept;
  [[nodiscard]] std::optional<error> try_to_write(std::span<job>);
  void write_batch(std::span<job>);
  void check_heads(std::span<job>);
  void insert(const job&);
  void insert_point(const job&);
  void check_base(const job&);
  void insert_tasks(const job&);
  void insert_effect(const job&);
  [[nodiscard]] std::int64_t thread_no(cursor&);
  [[nodiscard]] std::string head_of(std::int64_t thread_no);
  [[nodiscard]] std::int64_t layout_no(const std::shared_ptr<const std::string>&);
  void finish(std::span<job>, const std::optional<error>& failed);
  void end_turn();
  [[nodiscard]] static std::vector<std::function<void()>> take_waiting(std::span<job>);
  void run_errand();
  [[nodiscard]] bool run_due(std::unique_lock<std::mutex>&);
  void forget_numbers();

  const sqlite_saver_options options_;
  database db_;
  statement find_thread_;
  statement add_thread_;
  statement find_layout_;
  statement layout_;
  statement add_layout_;
  statement add_point_;
  statement has_point_;
  statement add_task_;
  statement begin_effect_;
  statement end_effect_;
  statement forget_effect_;
  statement forget_effects_;
  statement find_head_;
  statement begin_;
  statement commit_;
  statement version_;
  std::map<std::string, std::int64_t, std::less<>> layouts_;
  std::uint64_t epoch_ = 0;        ///< counts what others have committed, and our failures
  std::int64_t version_now_ = -1;  ///< of the file, in this transaction
  std::int64_t seen_version_ = -1; ///< of the file, when we last wrote: others have not since

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable written_;
  std::deque<job> queue_;
  std::deque<lingering> lingering_;
  std::deque<errand*> errands_;
  std::multimap<clock::time_point, std::function<void(bool)>> timers_;
  std::size_t queued_bytes_ = 0;
  bool is_stopping_ = false;
  bool is_writing_ = false;      ///< somebody has the database, without the lock
  bool is_kept_waiting_ = false; ///< the writer's thread, by somebody else who has it
  std::map<layout_ptr, std::shared_ptr<const std::string>> texts_;
  std::atomic<std::uint64_t> transactions_{0};
  std::atomic<std::uint64_t> rows_{0};
  std::thread thread_;
};

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "finished_row.hpp"
#include "output_line.hpp"
#include "stop_decision.hpp"

#include <superstep/batch/detail/stop_rules.hpp>
#include <superstep/batch/row_runner.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace superstep::detail {

/// The record of a row in a row_table. A record is in one list of the table at a time, and moves
/// from list to list with the phases of its row. It keeps its address and is used for other rows
/// later. So rows are handed from thread to thread without allocations and without copies.
struct table_row {
  row_request request;                         ///< moved away when the row starts
  std::chrono::steady_clock::time_point begun; ///< when the row started
  /// The member `origin` is set from the first list on, the others when the row has ended.
  finished_row done;

  std::mutex mutex; ///< guards the members below
  std::unique_ptr<running_row> handle;
  /// The thread that starts the row; no thread after attach() and finish().
  std::thread::id starting{};
};

using table_rows = std::list<table_row>;
/// A row that was started.
using started_row = table_rows::iterator;

/// Starts rows for row_table::finish().
class row_starter {
public:
  virtual ~row_starter() = default;
  /// Whether the job may start a further row. Called by any thread.
  /// @param used what the rows that have ended have used
  [[nodiscard]] virtual bool may_start(const row_expenses& used) const = 0;
  /// Starts a row that the table has counted as running. Called by any thread. Does not throw: a
  /// row that cannot be started ends with a fault.
  virtual void start(started_row row) noexcept = 0;
};

/// The rows in flight and the finished rows that wait to be written. Three kinds of threads share
/// the table: the feeding thread, which submits rows, the engine's threads, which run them, and the
/// writer thread. The table bounds the job's memory: at most `concurrency` rows run at a time, and
/// no row starts while `write_queue_max` finished rows wait to be written.
///
/// If chains are enabled, the feeding thread reads rows ahead, and the thread that ends a row
/// starts the next one. So the feeding thread is woken once for many rows. A row that ends in a
/// fault stops the chains until the feeding thread enables them again.
///
/// All threads contend for the table's lock. So a row takes it once, at its end, and the other two
/// threads take it once per group of rows.
class row_table {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// @param ready_max number of rows that are read ahead if chains are enabled, at least 1
  /// @param job the facts in the output lines of the rows
  row_table(std::size_t concurrency, std::size_t write_queue_max, std::size_t ready_max,
            job_identity job = {});

  // --- the feeding thread ---

  /// The actions that are open to the feeding thread, and the state of the job.
  struct room {
    bool may_start = false;  ///< whether another row may start
    bool may_read = false;   ///< whether another row may be read ahead
    bool has_ready = false;  ///< whether ready rows wait for their start
    bool has_chains = false; ///< whether chains are enabled
    bool has_ended = false;  ///< whether fail() or halt() was called
    row_expenses used;       ///< see expenses()
    [[nodiscard]] bool is_any() const noexcept { return may_start || may_read; }
  };
  /// Waits until another row may start or, if chains are enabled, may be read ahead. Returns no
  /// room if neither is possible before `until`. After fail() and halt(), and while take_returned()
  /// has rows, returns no room at once.
  [[nodiscard]] room wait_for_room(time_point until);
  /// Lets finish() start the rows of publish(), unless rows wait for take_returned(). No effect
  /// if chains are enabled.
  /// @param starter must outlive the rows in flight
  void enable_chains(row_starter& starter);
  /// Keeps finish() from starting rows. Ready rows stay.
  void disable_chains();
  /// Reads a row ahead: keeps it for publish(). Returns whether another one may be read before.
  /// @pre `room::may_read`, or no row waits for publish()
  [[nodiscard]] bool read_ahead(row_request&& request, row_origin&& origin);
  /// Adds the rows of read_ahead() for take_ready() and finish(). Returns whether a ready row may
  /// start now.
  bool publish();
  /// Takes the first ready row, which the caller starts. Returns nullopt if there is none or no
  /// further row may run.
  [[nodiscard]] std::optional<started_row> take_ready();
  /// Whether ready rows are left.
  [[nodiscard]] bool has_ready() const;
  /// Announces that no further row is read ahead.
  void end_ready();
  /// Adds a row that the caller starts now. @pre wait_for_room() returned `may_start`
  [[nodiscard]] started_row begin(row_request&& request, row_origin&& origin);
  /// Queues an invalid input line for the dead letters.
  void add_bad_line(row_origin origin, error why, bool is_duplicate);
  /// Cancels all rows in flight.
  void cancel_all();
  /// Waits until no row is in flight. Returns false if rows are still in flight at `until`.
  [[nodiscard]] bool wait_until_idle(time_point until);
  [[nodiscard]] std::size_t in_flight() const;
  /// Announces that no further row follows. The writer thread ends when it has written the queue.
  /// @param is_stopped whether the job stops before its end
  /// @pre no row is in flight
  void close(bool is_stopped);
  /// Limits the rows that may start until accept() is called; 0 = no limit.
  void start_trial(std::uint64_t rows_max);
  /// Returns what the rows that have ended have used. Rows that ended in a fault are not included.
  [[nodiscard]] row_expenses expenses() const;
  /// The start times of the rows in flight.
  struct running_rows {
    std::size_t count = 0;
    time_point oldest; ///< only set if there are any
    time_point newest; ///< only set if there are any
  };
  [[nodiscard]] running_rows running() const;
  /// Returns why halt() stopped the job; nullopt if it did not.
  [[nodiscard]] std::optional<job_stop> halted() const;
  /// Returns the first error that ended the job, if there is one.
  [[nodiscard]] std::optional<error> failure() const;
  /// Sets the maximum number of running rows, at least 1. Running rows are not affected.
  void set_concurrency(std::size_t rows);
  struct returned_rows {
    std::vector<finished_row> rows;
    std::uint64_t finished = 0; ///< total number of rows that ended without a shortage
  };
  /// Takes the rows that ended in a shortage of the machine since the last call. The caller submits
  /// them again.
  [[nodiscard]] returned_rows take_returned();

  // --- any thread ---

  /// Stores the handle with which cancel_all() can cancel the row. Called by the thread that starts
  /// the row. No effect if the row has ended.
  static void attach(started_row row, std::unique_ptr<running_row> handle);
  /// Ends a row: writes its output line, queues it for the writer, and starts the next row if
  /// chains are enabled. A row that ended in a fault is returned to the feeding thread instead,
  /// which submits it again.
  void finish(started_row row, row_outcome&& outcome) noexcept;

  // --- the writer thread ---

  struct work {
    std::string starts;      ///< journal records of the rows that started since the last call
    bool is_last = false;    ///< whether the table is closed, so that no further work follows
    bool is_stopped = false; ///< whether the job stopped before its end
  };
  /// Takes all queued work, and the finished rows for taken(). Without `until`, waits for the first
  /// entry. With `until`, collects entries until that time or until the queue is half full, and may
  /// return nothing.
  void take(work& into, std::optional<time_point> until);
  /// Returns the rows that the latest take() has taken; their results are in table_row::done. The
  /// next take() clears them.
  [[nodiscard]] table_rows& taken() noexcept { return taken_; }
  /// Stops the job before its end. No further row starts, and the rows in flight may end. The first
  /// reason is kept. Also called by the feeding thread. Returns whether this reason is the first.
  bool halt(job_stop why);
  /// Ends the trial: any number of rows may start.
  void accept();
  /// Reports an error that ends the job, for example of the disk. No further row starts. Also
  /// called by the feeding thread.
  void fail(error why);

private:
  /// Number of queued rows at which the writer is woken before its group is due.
  [[nodiscard]] std::size_t wake_size() const noexcept { return write_queue_max_ / 2 + 1; }
  /// Moves a finished row from one of the lists to the queue.
  void enqueue(table_rows& from, table_rows::iterator row) noexcept;
  /// Whether another row may run.
  [[nodiscard]] bool may_run() const noexcept;
  /// Whether the feeding thread must read further rows ahead.
  [[nodiscard]] bool needs_ready() const noexcept;
  table_rows::iterator take_record(row_request&& request, row_origin&& origin);
  [[nodiscard]] started_row begin(table_rows& from);
  [[nodiscard]] started_row take_first_ready();
  [[nodiscard]] std::optional<started_row> take_successor() noexcept;

  const job_identity job_;
  // Only the feeding thread uses these.
  table_rows ahead_;              ///< rows that were read ahead and wait for publish()
  table_rows unused_;             ///< records for further rows
  std::uint64_t ahead_bytes_ = 0; ///< size of the lines of `ahead_`
  std::size_t ahead_max_ = 0;     ///< see wait_for_room()
  std::uint64_t ahead_bytes_max_ = 0;

  table_rows taken_; // only the writer thread uses it

  mutable std::mutex mutex_; // guards the members below
  std::condition_variable feeder_;
  std::condition_variable writer_;
  table_rows ready_;    ///< rows that were read ahead
  table_rows running_;  ///< rows in flight
  table_rows queue_;    ///< finished rows for the writer thread
  table_rows returned_; ///< rows that ended in a fault
  table_rows spare_;    ///< records for `unused_`
  std::uint64_t finished_ = 0;
  std::string starts_;
  std::uint64_t ready_bytes_ = 0;  ///< size of the lines of `ready_`
  bool is_filling_ = true;         ///< whether `ready_` is filled up; false until it is half empty
  bool has_all_ready_ = false;     ///< whether no further row is added to `ready_`
  row_starter* starter_ = nullptr; ///< null if chains are disabled
  std::size_t concurrency_;
  std::size_t write_queue_max_;
  std::size_t ready_max_;
  row_expenses expenses_;
  std::uint64_t trial_rows_ = 0; ///< rows that may still start, if `is_on_trial_`
  bool is_on_trial_ = false;
  std::optional<job_stop> halted_;
  std::optional<error> failure_;
  bool is_cancelled_ = false; ///< whether cancel_all() was called
  bool is_closed_ = false;
  bool is_stopped_ = false;
};

} // namespace superstep::detail

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
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace superstep::detail {

/// A row that was read and waits for its start.
struct ready_row {
  row_request request;
  row_origin origin;
};

/// Starts rows for row_table::finish().
class row_starter {
public:
  virtual ~row_starter() = default;
  /// Whether the job may start a further row. Called by any thread.
  /// @param used what the rows that have ended have used
  [[nodiscard]] virtual bool may_start(const row_expenses& used) const = 0;
  /// Starts a row in a slot that was taken for it. Called by any thread. Does not throw: a row that
  /// cannot be started ends with a fault.
  virtual void start(std::size_t slot, row_request&& request) noexcept = 0;
};

/// The rows in flight and the finished rows that wait to be written. Three kinds of threads share
/// the table: the feeding thread, which submits rows, the engine's threads, which run them, and the
/// writer thread. The table bounds the job's memory: at most `concurrency` rows run at a time, and
/// no row starts while `write_queue_max` finished rows wait to be written.
///
/// If chains are enabled, the feeding thread reads rows ahead, and the thread that ends a row
/// starts the next one. So the feeding thread is woken once for many rows. A row that ends in a
/// fault stops the chains until the feeding thread enables them again.
class row_table {
public:
  using time_point = std::chrono::steady_clock::time_point;
  using slot_index = std::size_t;

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
  /// Lets finish() start the rows of add_ready(), unless rows wait for take_returned(). No effect
  /// if chains are enabled.
  /// @param starter must outlive the rows in flight
  void enable_chains(row_starter& starter);
  /// Keeps finish() from starting rows. Ready rows stay.
  void disable_chains();
  /// Adds a row for take_ready() and finish(). Returns whether a ready row may start now.
  bool add_ready(row_request&& request, row_origin&& origin);
  /// A ready row for which a slot was taken.
  struct started_row {
    std::size_t slot;
    row_request request;
  };
  /// Takes a slot for the first ready row, which the caller starts. Returns nullopt if there is
  /// none or no further row may run.
  [[nodiscard]] std::optional<started_row> take_ready();
  /// Whether ready rows are left.
  [[nodiscard]] bool has_ready() const;
  /// Announces that no further row is read ahead.
  void end_ready();
  /// Takes a slot for a row that starts now. @pre wait_for_room() returned true
  [[nodiscard]] slot_index begin(row_origin origin);
  /// Stores the handle with which cancel_all() can cancel the row. No effect if the row has ended.
  void attach(slot_index slot, std::unique_ptr<running_row> handle);
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

  /// Ends a row: writes its output line, queues it for the writer, and starts the next row if
  /// chains are enabled. A row that ended in a fault is returned to the feeding thread instead,
  /// which submits it again.
  void finish(slot_index slot, row_outcome&& outcome) noexcept;

  // --- the writer thread ---

  struct work {
    std::vector<finished_row> rows;
    std::string starts;      ///< journal records of the rows that started since the last call
    bool is_last = false;    ///< whether the table is closed, so that no further work follows
    bool is_stopped = false; ///< whether the job stopped before its end
  };
  /// Takes all queued work. Without `until`, waits for the first entry. With `until`, collects
  /// entries until that time or until the queue is half full, and may return nothing.
  void take(work& into, std::optional<time_point> until);
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
  void enqueue(finished_row&& row);
  [[nodiscard]] finished_row end_row(slot_index index, row_outcome&& outcome) noexcept;
  /// Whether another row may run.
  [[nodiscard]] bool may_run() const noexcept;
  /// Whether the feeding thread must read further rows ahead.
  [[nodiscard]] bool needs_ready() const noexcept;
  slot_index take_slot(row_origin& origin);
  [[nodiscard]] std::optional<started_row> take_first_ready();
  [[nodiscard]] std::optional<started_row> take_successor() noexcept;

  struct slot {
    row_origin origin;
    time_point begun;
    std::unique_ptr<running_row> handle;
    bool is_running = false;
    /// The thread that starts the row; no thread after attach().
    std::thread::id starting{};
  };

  const job_identity job_;
  mutable std::mutex mutex_;
  std::condition_variable feeder_;
  std::condition_variable writer_;
  std::vector<slot> slots_;
  std::vector<slot_index> free_;
  std::vector<finished_row> queue_;
  std::vector<finished_row> returned_;
  std::uint64_t finished_ = 0;
  std::string starts_;
  std::deque<ready_row> ready_;
  std::uint64_t ready_bytes_ = 0;  ///< size of the lines of `ready_`
  bool is_filling_ = true;         ///< whether `ready_` is filled up; false until it is half empty
  bool has_all_ready_ = false;     ///< whether no further row is added to `ready_`
  row_starter* starter_ = nullptr; ///< null if chains are disabled
  std::size_t concurrency_;
  std::size_t write_queue_max_;
  std::size_t ready_max_;
  std::size_t in_flight_ = 0;
  row_expenses expenses_;
  std::uint64_t trial_rows_ = 0; ///< rows that may still start, if `is_on_trial_`
  bool is_on_trial_ = false;
  std::optional<job_stop> halted_;
  std::optional<error> failure_;
  bool is_closed_ = false;
  bool is_stopped_ = false;
};

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "output_line.hpp"

#include <superstep/batch/row_runner.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace superstep::detail {

/// A finished row, or an invalid line (`bad_line` is set), that waits to be written.
struct finished_row {
  row_origin origin;
  row_outcome outcome;
  std::chrono::nanoseconds wall{0};
  std::unique_ptr<running_row> handle; ///< destroyed by the writer thread
  std::optional<error> bad_line;
  bool is_duplicate = false; ///< an invalid line whose only error is the key of an earlier line
};

/// The rows in flight and the finished rows that wait to be written, shared by the feeding thread,
/// the threads that run rows, and the writer thread. It bounds the job's memory: at most
/// `concurrency` rows run, and none is started while `write_queue_max` wait to be written.
class row_table {
public:
  using time_point = std::chrono::steady_clock::time_point;
  using slot_index = std::size_t;

  row_table(std::size_t concurrency, std::size_t write_queue_max);

  // --- the feeding thread ---

  /// Waits until a row may start. False at `until`, and at once after fail().
  [[nodiscard]] bool wait_for_room(time_point until);
  /// Takes a slot. @pre wait_for_room() returned true
  [[nodiscard]] slot_index begin(row_origin origin);
  /// Stores the handle of a row for cancel_all(), unless the row has already ended.
  void attach(slot_index slot, std::unique_ptr<running_row> handle);
  void add_bad_line(row_origin origin, error why, bool is_duplicate);
  void cancel_all();
  /// Waits until no row is in flight. False at `until`.
  [[nodiscard]] bool wait_until_idle(time_point until);
  [[nodiscard]] std::size_t in_flight() const;
  /// Announces that no row follows: the writer ends after the queue. @pre nothing is in flight
  void close();
  [[nodiscard]] std::optional<error> failure() const;
  /// Sets the maximum number of running rows, at least 1. Rows that already run are not affected.
  void set_concurrency(std::size_t rows);
  /// Returns the rows that ended in a shortage since the last call. They are neither done nor in
  /// flight.
  struct returned_rows {
    std::vector<finished_row> rows;
    std::uint64_t finished = 0; ///< total number of rows that ended otherwise
  };
  [[nodiscard]] returned_rows take_returned();

  // --- any thread ---

  void finish(slot_index slot, row_outcome outcome);

  // --- the writer thread ---

  struct work {
    std::vector<finished_row> rows;
    std::string starts; ///< journal records of rows started meanwhile
    bool is_last = false;
  };
  /// Waits for work, at most until `until`; may return nothing.
  void take(work& into, std::optional<time_point> until);
  /// Reports a disk error. No further row is started.
  void fail(error why);

private:
  /// Number of queued rows that wakes the writer before the group is due.
  [[nodiscard]] std::size_t wake_size() const noexcept { return write_queue_max_ / 2 + 1; }
  void enqueue(finished_row row);

  struct slot {
    row_origin origin;
    time_point begun;
    std::unique_ptr<running_row> handle;
    bool is_running = false;
  };

  mutable std::mutex mutex_;
  std::condition_variable feeder_;
  std::condition_variable writer_;
  std::vector<slot> slots_;
  std::vector<slot_index> free_;
  std::vector<finished_row> queue_;
  std::vector<finished_row> returned_;
  std::uint64_t finished_ = 0;
  std::string starts_;
  std::size_t concurrency_;
  std::size_t write_queue_max_;
  std::size_t in_flight_ = 0;
  std::optional<error> failure_;
  bool is_closed_ = false;
};

} // namespace superstep::detail

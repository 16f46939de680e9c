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

/// A row that has ended, or a line that is no row (`bad_line` is set), on its way to the disk.
struct finished_row {
  row_origin origin;
  row_outcome outcome;
  std::chrono::nanoseconds wall{0};
  std::unique_ptr<running_row> handle; ///< destroyed by the writer, outside the runner's callback
  std::optional<error> bad_line;
  bool is_duplicate = false; ///< a bad line that would be a row if an earlier one had not its key
};

/// Rows in flight and rows that wait for the disk, shared by the thread that feeds, the threads
/// that run and the thread that writes. Its bound is the job's memory: at most `concurrency` rows
/// run, and none is begun while `write_queue_max` wait for the disk.
class row_table {
public:
  using time_point = std::chrono::steady_clock::time_point;
  using slot_index = std::size_t;

  row_table(std::size_t concurrency, std::size_t write_queue_max);

  // --- the feeding thread ---

  /// Waits until a row may be begun. False at `until`, or at once after fail().
  [[nodiscard]] bool wait_for_room(time_point until);
  /// Takes a slot; there is room.
  [[nodiscard]] slot_index begin(row_origin origin);
  /// Keeps the handle of a row for cancel_all(), unless the row has ended already.
  void attach(slot_index slot, std::unique_ptr<running_row> handle);
  void add_bad_line(row_origin origin, error why, bool is_duplicate);
  void cancel_all();
  /// Waits until no row is in flight. False at `until`.
  [[nodiscard]] bool wait_until_idle(time_point until);
  [[nodiscard]] std::size_t in_flight() const;
  /// No row will follow: the writer ends after what is queued. Nothing is in flight.
  void close();
  [[nodiscard]] std::optional<error> failure() const;
  /// Sets how many rows may run, at least 1. Rows that run already are not touched.
  void set_concurrency(std::size_t rows);
  /// Rows that ended in a shortage since the last call. They are not done and not in flight.
  struct returned_rows {
    std::vector<finished_row> rows;
    std::uint64_t finished = 0; ///< rows that have ended otherwise, in all
  };
  [[nodiscard]] returned_rows take_returned();

  // --- any thread ---

  void finish(slot_index slot, row_outcome outcome);

  // --- the writing thread ---

  struct work {
    std::vector<finished_row> rows;
    std::string starts; ///< journal records of rows begun meanwhile
    bool is_last = false;
  };
  /// Waits for something to write, at most until `until`; may come back with nothing.
  void take(work& into, std::optional<time_point> until);
  /// The disk refused. No further row is begun.
  void fail(error why);

private:
  /// Rows in the queue that wake the writer before its time.
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

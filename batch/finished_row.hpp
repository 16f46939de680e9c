// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "journal.hpp"
#include "output_line.hpp"

#include <superstep/base/error.hpp>
#include <superstep/batch/row_runner.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace superstep::detail {

/// An entry of the writer's queue: a row that has ended, or an invalid input line if `bad_line` is
/// set. It contains the row's output line instead of its outcome.
struct finished_row {
  row_origin origin;
  std::string line; ///< its output line; empty for an invalid line, and if `fault` is set
  row_counts counts;
  row_status status = row_status::ok;
  std::optional<row_error> error;                   ///< set unless `status` is ok
  std::optional<row_fault> fault;                   ///< if set, the row runs again
  std::vector<std::chrono::nanoseconds> tool_times; ///< see row_outcome
  std::chrono::nanoseconds barrier_wait{0};         ///< see row_outcome
  std::chrono::nanoseconds wall{0};                 ///< time from the start of the row to its end
  std::unique_ptr<running_row> handle;              ///< kept until the writer thread destroys it
  std::optional<superstep::error> bad_line;         ///< error of an invalid line
  bool is_duplicate = false; ///< whether the only error of an invalid line is a duplicate key
};

/// Writes the output line of a row that has ended. The thread that ends the row calls this: the
/// messages of the outcome are then freed where they were allocated, which is much faster, and the
/// only writer thread has less to do. If memory is short, the row has a fault.
/// @param into only its member `origin` is set
void finish_row(finished_row& into, row_outcome&& outcome, std::chrono::nanoseconds wall,
                const job_identity& job) noexcept;

/// Clears all members. The line keeps its memory, unless it is large.
void clear_row(finished_row& row) noexcept;

} // namespace superstep::detail

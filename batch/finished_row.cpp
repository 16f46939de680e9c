// SPDX-License-Identifier: Apache-2.0
// Writes the output lines of rows on the threads that end them.
#include "finished_row.hpp"

#include <cstddef>
#include <new>
#include <utility>

namespace superstep::detail {
namespace {

row_counts counts_of(const row_outcome& outcome) noexcept {
  return {.steps = outcome.steps,
          .model_calls = outcome.model_calls,
          .tool_calls = outcome.tool_calls,
          .input_tokens = outcome.usage.input_tokens,
          .output_tokens = outcome.usage.output_tokens,
          .total_tokens = outcome.usage.total_tokens,
          .failed_tool_calls = outcome.failed_tool_calls,
          .cost = outcome.cost.value_or(0),
          .rows_unpriced = outcome.cost ? 0U : 1U,
          .cached_answers = cached_answers(outcome.usage)};
}

void write_line(finished_row& into, row_outcome& outcome, const job_identity& job) {
  // Every failed row needs an error for its dead letter.
  if (outcome.status != row_status::ok && !outcome.error) {
    outcome.error.emplace();
    outcome.error->kind = "cancelled";
    outcome.error->message = "the row was cancelled";
  }
  into.line.clear();
  append_output_line(into.line, into.origin, outcome, into.wall, job);
  into.counts = counts_of(outcome);
  into.status = outcome.status;
  into.error = std::move(outcome.error);
  into.tool_times = std::move(outcome.tool_times);
  into.barrier_wait = outcome.barrier_wait;
  outcome.messages = {}; // freed before the next row starts, which needs such memory
}

} // namespace

void finish_row(finished_row& into, row_outcome&& outcome, std::chrono::nanoseconds wall,
                const job_identity& job) noexcept {
  into.wall = wall;
  if (outcome.fault) {
    into.fault = std::move(outcome.fault);
    return;
  }
  try {
    write_line(into, outcome, job);
  } catch (const std::bad_alloc&) {
    into.line.clear();
    into.fault.emplace(row_fault{row_fault::kind::shortage, "out of memory"}); // allocates nothing
  }
}

void clear_row(finished_row& row) noexcept {
  constexpr auto kept_max = std::size_t{16} << 10U;
  auto line = std::exchange(row.line, {});
  row = {};
  if (line.capacity() > kept_max)
    return;
  line.clear();
  row.line = std::move(line);
}

} // namespace superstep::detail

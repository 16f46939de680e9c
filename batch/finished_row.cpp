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

/// Returns the row's output line, whose memory has its size.
std::string line_of(const row_origin& origin, const row_outcome& outcome,
                    std::chrono::nanoseconds wall, const job_identity& job) {
  constexpr auto kept_max = std::size_t{1} << 20U;
  thread_local auto buffer = std::string{}; // grows to the size of the usual lines
  buffer.clear();
  append_output_line(buffer, origin, outcome, wall, job);
  auto line = buffer;
  if (buffer.capacity() > kept_max)
    buffer = {};
  return line;
}

void write_line(finished_row& into, row_outcome& outcome, const job_identity& job) {
  // Every failed row needs an error for its dead letter.
  if (outcome.status != row_status::ok && !outcome.error) {
    outcome.error.emplace();
    outcome.error->kind = "cancelled";
    outcome.error->message = "the row was cancelled";
  }
  into.line = line_of(into.origin, outcome, into.wall, job);
  into.counts = counts_of(outcome);
  into.status = outcome.status;
  into.error = std::move(outcome.error);
  into.tool_times = std::move(outcome.tool_times);
  into.barrier_wait = outcome.barrier_wait;
  outcome.messages = {}; // freed before the next row starts, which needs such memory
}

} // namespace

finished_row finish_row(row_origin origin, row_outcome&& outcome, std::chrono::nanoseconds wall,
                        const job_identity& job) noexcept {
  auto out = finished_row{};
  out.origin = std::move(origin);
  out.wall = wall;
  if (outcome.fault) {
    out.fault = std::move(outcome.fault);
    return out;
  }
  try {
    write_line(out, outcome, job);
  } catch (const std::bad_alloc&) {
    out.line.clear();
    out.fault.emplace(row_fault{row_fault::kind::shortage, "out of memory"}); // allocates nothing
  }
  return out;
}

} // namespace superstep::detail

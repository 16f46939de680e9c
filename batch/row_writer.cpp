// SPDX-License-Identifier: Apache-2.0
// The writer thread of a job: decides which finished rows are stored, and when.
#include "row_writer.hpp"

#include "base/file_size_signal.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <system_error>

namespace superstep::detail {
namespace {

/// The interval at which the writer asks the ledger about its group while no row ends.
constexpr auto group_poll = std::chrono::milliseconds{20};

/// Returns the error code of a row for failure_watch, in which `timed_out` is the deadline of a
/// row.
std::string_view code_of(const row_error& why) noexcept {
  if (why.code.empty())
    return why.kind;
  return why.kind == "model_error" && why.code == "timed_out" ? "model_timed_out"
                                                              : std::string_view{why.code};
}

/// Returns the text for a job that stops because its rows fail.
std::string stopped_text(const row_error& why) {
  return std::to_string(judged_rows) +
         " rows failed and none succeeded in this run, so the job stops: " + why.message +
         ". The failed rows are not dead letters and run again when the job is resumed. Correct "
         "the cause and rerun; --fail-if none runs all rows nevertheless";
}

} // namespace

row_writer::row_writer(row_table& table, job_ledger& ledger, const stop_rules& rules,
                       const std::atomic<bool>& is_aborting)
    : table_{table}, ledger_{ledger}, is_aborting_{is_aborting}, watch_{rules} {
  const auto& facts = ledger.facts();
  pending_.ok = facts.ok;
  pending_.dead = facts.dead;
  pending_.bad_lines = facts.bad_lines;
  pending_.counts = facts.counts;
  pending_.rows_with_failed_calls = facts.rows_with_failed_calls;
  totals_ = pending_;
  if (watch_.is_on_trial())
    table_.start_trial(trial_rows_max);
}

row_writer::~row_writer() {
  SUPERSTEP_ASSERT(!thread_.joinable());
}

result<void> row_writer::start() {
  try {
    thread_ = std::thread{[this] { run(); }};
  } catch (const std::system_error& e) {
    return error{e.code(), "cannot start the writer thread (check the process limit, "
                           "ulimit -u): " +
                               e.code().message()};
  }
  return {};
}

bool row_writer::wait_until_written(time_point until) {
  auto lock = std::unique_lock{mutex_};
  return written_.wait_until(lock, until, [this] { return is_written_; });
}

void row_writer::join() {
  thread_.join();
}

written_totals row_writer::totals() const {
  const auto guard = std::lock_guard{mutex_};
  return totals_;
}

void row_writer::run() {
  const auto no_signal = file_size_signal_blocked{}; // a file-size limit must be an error
  write_all();
  const auto guard = std::lock_guard{mutex_};
  is_written_ = true;
  written_.notify_all();
}

void row_writer::write_all() {
  using std::chrono::steady_clock;
  auto next_commit = time_point{};
  auto work = row_table::work{};
  while (!work.is_last) {
    auto until = std::optional<time_point>{};
    if (ledger_.has_pending())
      until = std::min(next_commit, steady_clock::now() + group_poll);
    else if (!held_.empty())
      until = steady_clock::now() + group_poll;
    table_.take(work, until);
    ledger_.add_starts(work.starts);
    for (auto& row : table_.taken())
      admit(row.done);
    if (work.is_last)
      work.is_stopped ? drop_held() : release();
    else if (!held_.empty() && is_out_of_rows())
      release();
    if (ledger_.has_pending() &&
        (work.is_last || steady_clock::now() >= next_commit || ledger_.is_full())) {
      commit();
      next_commit = steady_clock::now() + ledger_.commit_interval();
    }
  }
}

/// Whether the held rows cannot learn more from other rows of this process. A shared job would
/// never end if they waited for its end.
bool row_writer::is_out_of_rows() const {
  return table_.in_flight() == 0 && !table_.has_ready() && ledger_.is_out_of_rows();
}

/// Writes the lines of a row, unless the row must wait or run again.
void row_writer::admit(finished_row& row) {
  if (row.bad_line)
    return store(row);
  // This job cancelled the row itself, so the row is not finished: it runs again when the job
  // resumes.
  if (row.status == row_status::cancelled && is_aborting_.load())
    return;
  if (row.error)
    note_error(row.error->message);
  using verdict = failure_watch::verdict;
  const auto was_on_trial = watch_.is_on_trial();
  const auto next = row.error ? watch_.failed(code_of(*row.error)) : watch_.succeeded();
  if (was_on_trial && !watch_.is_on_trial() && !watch_.has_stopped())
    table_.accept();
  switch (next) {
  case verdict::hold:
    return held_.push_back(std::move(row));
  case verdict::stop:
    table_.halt({stop_cause::failing, stopped_text(*row.error)});
    drop_held();
    return drop(row);
  case verdict::drop:
    return drop(row);
  case verdict::release:
    release();
    break;
  case verdict::write:
    break;
  }
  store(row);
}

/// Makes the error visible at once: a row that is held may wait long for its commit.
void row_writer::note_error(const std::string& text) {
  pending_.last_error = text;
  const auto guard = std::lock_guard{mutex_};
  totals_.last_error = text;
}

/// Writes the lines of the rows that were held: their errors are their own.
void row_writer::release() {
  for (const auto& row : held_)
    store(row);
  held_.clear();
}

/// Counts what a row has used whose end does not count. It runs again when the job is resumed.
void row_writer::drop(const finished_row& row) {
  auto counts = row.counts;
  counts.rows_unpriced = 0; // a number of rows in the output
  ledger_.add_spent(counts);
  pending_.counts += counts;
}

void row_writer::drop_held() {
  for (const auto& row : held_)
    drop(row);
  held_.clear();
}

void row_writer::store(const finished_row& row) {
  if (has_failed_)
    return;
  if (auto added = ledger_.add(row); !added) {
    has_failed_ = true;
    return table_.fail(added.error());
  }
  if (row.bad_line) {
    ++pending_.bad_lines;
    return;
  }
  ++(row.error ? pending_.dead : pending_.ok);
  ++pending_.rows_this_run;
  pending_.counts += row.counts;
  pending_.rows_with_failed_calls += row.counts.failed_tool_calls > 0 ? 1U : 0U;
  pending_.row_times.add(row.wall);
  if (!row.tool_times.empty())
    pending_.barrier_waits.add(row.barrier_wait);
  pending_.row_time += row.wall;
  pending_.barrier_wait += row.barrier_wait;
  if (row.error)
    ++pending_.errors[row.error->code.empty() ? row.error->kind : row.error->code];
  for (auto time : row.tool_times) {
    pending_.tool_times.add(time);
    pending_.tool_time += time;
  }
}

void row_writer::commit() {
  if (has_failed_)
    return;
  if (auto written = ledger_.commit(); !written) {
    has_failed_ = true;
    return table_.fail(written.error());
  }
  const auto guard = std::lock_guard{mutex_};
  totals_ = pending_;
}

} // namespace superstep::detail

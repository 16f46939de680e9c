// SPDX-License-Identifier: Apache-2.0
// The writer thread of a job. row_writer.hpp states the order of writes, on which recover() relies.
#include "row_writer.hpp"

#include "base/file_size_signal.hpp"
#include "journal.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <system_error>

namespace superstep::detail {
namespace {

// A group of this size is written at once, without waiting for the sync interval.
constexpr auto group_bytes_max = std::size_t{8} << 20U;

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
         " rows failed and none succeeded, so the job stops: " + why.message +
         ". The failed rows are not dead letters and run again when the job is resumed. Correct "
         "the cause and rerun; --fail-if none runs all rows nevertheless";
}

/// Fails if another process has removed or replaced an open file, or changed its size. Rows written
/// afterwards would be lost, although the journal records them as done.
result<void> expect_untouched(const file& opened, std::uint64_t size) {
  if (!opened.is_open())
    return {};
  auto now = opened.size();
  if (!now)
    return now.error();
  if (!opened.has_its_name())
    return error{errc::invalid_argument,
                 opened.path() + " was removed or replaced while the job ran"};
  if (*now != size)
    return error{errc::invalid_argument,
                 opened.path() + " was changed while the job ran: it has " + std::to_string(*now) +
                     " bytes instead of " + std::to_string(size) +
                     (*now < size ? "; restore it, or use --force to run the rows "
                                    "of the missing lines again"
                                  : "; remove what was added, then rerun to "
                                    "resume")};
  return {};
}

} // namespace

row_writer::row_writer(row_table& table, job_files& files, const input_file& input,
                       const batch_options& options, const std::atomic<bool>& is_aborting,
                       row_view* view)
    : table_{table}, files_{files}, input_{input}, options_{options}, is_aborting_{is_aborting},
      identity_{files.content.header->job_id, files.content.header->created},
      output_end_{files.content.output_end}, dead_end_{files.content.dead_end},
      output_size_{output_end_}, dead_size_{dead_end_}, view_{view}, watch_{options.rules} {
  pending_.ok = files.content.ok;
  pending_.dead = files.content.dead;
  pending_.bad_lines = files.content.bad_lines.size();
  pending_.counts = files.content.counts;
  pending_.rows_with_failed_calls = files.content.rows_with_failed_calls;
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

void row_writer::join() {
  thread_.join();
}

written_totals row_writer::totals() const {
  const auto guard = std::lock_guard{mutex_};
  return totals_;
}

void row_writer::run() {
  const auto no_signal = file_size_signal_blocked{}; // a file-size limit must be an error
  auto next_sync = time_point{};
  auto work = row_table::work{};
  while (!work.is_last) {
    table_.take(work, has_pending() ? std::optional{next_sync} : std::nullopt);
    starts_ += work.starts;
    for (auto& row : work.rows)
      admit(row);
    if (work.is_last && !work.is_stopped)
      release();
    const auto now = std::chrono::steady_clock::now();
    const auto is_due = now >= next_sync || output_.size() + dead_.size() >= group_bytes_max;
    if (has_pending() && (is_due || work.is_last)) {
      commit();
      next_sync = std::chrono::steady_clock::now() + options_.sync_interval;
    }
  }
}

/// Writes the lines of a row, unless the row must wait or run again.
void row_writer::admit(finished_row& row) {
  auto& outcome = row.outcome;
  if (row.bad_line)
    return render(row);
  // This job cancelled the row itself, so the row is not finished: it runs again when the job
  // resumes.
  if (outcome.status == row_status::cancelled && is_aborting_.load())
    return;
  // Every failed row needs an error for its dead letter.
  if (outcome.status != row_status::ok && !outcome.error) {
    outcome.error.emplace();
    outcome.error->kind = "cancelled";
    outcome.error->message = "the row was cancelled";
  }
  using verdict = failure_watch::verdict;
  const auto was_on_trial = watch_.is_on_trial();
  const auto next = outcome.error ? watch_.failed(code_of(*outcome.error)) : watch_.succeeded();
  if (was_on_trial && !watch_.is_on_trial() && !watch_.has_stopped())
    table_.accept();
  switch (next) {
  case verdict::hold:
    return held_.push_back(std::move(row));
  case verdict::stop:
    table_.halt({stop_cause::failing, stopped_text(*outcome.error)});
    return held_.clear();
  case verdict::drop:
    return;
  case verdict::release:
    release();
    break;
  case verdict::write:
    break;
  }
  render(row);
}

/// Writes the lines of the rows that were held: their errors are their own.
void row_writer::release() {
  for (auto& row : held_)
    render(row);
  held_.clear();
}

bool row_writer::has_pending() const noexcept {
  return !done_.empty() || !starts_.empty();
}

void row_writer::render(finished_row& row) {
  if (has_failed_)
    return;
  if (row.bad_line)
    return render_bad_line(row);
  const auto& outcome = row.outcome;
  const auto counts = counts_of(outcome);
  const auto before = output_.size();
  append_output_line(output_, row.origin, outcome, row.wall, identity_);
  const auto begin = output_end_;
  output_end_ += output_.size() - before;
  if (view_ != nullptr)
    rows_.push_back({row.origin.place, begin, output_end_});
  if (outcome.error) {
    const auto dead_before = dead_.size();
    auto line = read_json_line(row.origin);
    if (!line) {
      has_failed_ = true;
      return table_.fail(line.error());
    }
    append_dead_line(dead_, row.origin, input_line_, *outcome.error);
    dead_end_ += dead_.size() - dead_before;
    append_dead(done_, row.origin.key, output_end_, dead_end_, counts);
    ++pending_.dead;
  } else {
    append_ok(done_, row.origin.key, output_end_, counts);
    ++pending_.ok;
  }
  ++pending_.rows_this_run;
  pending_.counts += counts;
  pending_.rows_with_failed_calls += counts.failed_tool_calls > 0 ? 1U : 0U;
  pending_.row_times.add(row.wall);
  pending_.barrier_waits.add(outcome.barrier_wait);
  pending_.row_time += row.wall;
  pending_.barrier_wait += outcome.barrier_wait;
  if (outcome.error)
    ++pending_.errors[outcome.error->code.empty() ? outcome.error->kind : outcome.error->code];
  for (auto time : outcome.tool_times) {
    pending_.tool_times.add(time);
    pending_.tool_time += time;
  }
}

/// Reads a valid line of the input into `input_line_`, as JSON. Input lines are not kept in memory.
result<void> row_writer::read_json_line(const row_origin& row) {
  if (auto read = input_.bytes.read_at(row.offset, row.size, input_line_); !read)
    return read;
  if (row.offset == 0)
    input_line_.erase(0, input_line_.size() - without_byte_order_mark(input_line_).size());
  if (!input_.format.columns)
    return {};
  auto converted = input_.format.columns->to_json(input_line_);
  if (!converted)
    return converted.error();
  input_line_ = std::move(*converted);
  return {};
}

void row_writer::render_bad_line(const finished_row& row) {
  const auto before = dead_.size();
  constexpr auto read_bytes_max = std::uint64_t{4096};
  const auto& origin = row.origin;
  // A duplicate line is valid otherwise, so its dead letter contains all of it. Any other invalid
  // line may have any length, and its dead letter contains an excerpt.
  if (auto line = row.is_duplicate
                      ? read_json_line(origin)
                      : input_.bytes.read_at(origin.offset, std::min(origin.size, read_bytes_max),
                                             input_line_);
      !line) {
    has_failed_ = true;
    return table_.fail(line.error());
  }
  if (row.is_duplicate) {
    auto why = row_error{};
    why.kind = duplicate_key_kind;
    why.message = row.bad_line->text;
    append_dead_line(dead_, origin, input_line_, why);
  } else {
    append_bad_line(dead_, origin.line, input_line_, *row.bad_line);
  }
  dead_end_ += dead_.size() - before;
  append_bad(done_, origin.line, dead_end_);
  ++pending_.bad_lines;
}

void row_writer::commit() {
  if (has_failed_)
    return;
  if (auto written = write_group(); !written) {
    has_failed_ = true;
    // These bytes will never be written. has_pending() must become false, or run() would call
    // commit() again and again.
    starts_.clear();
    done_.clear();
    return table_.fail(written.error());
  }
  const auto guard = std::lock_guard{mutex_};
  totals_ = pending_;
}

/// Lets tests inspect the files as a crash at this point would leave them.
void row_writer::step(std::string_view name) const {
  if (options_.on_disk_step)
    options_.on_disk_step(name);
}

result<void> row_writer::put(file& into, std::string& bytes, std::string_view name) {
  if (bytes.empty())
    return {};
  step(name);
  if (auto written = into.append(bytes); !written)
    return written;
  bytes.clear();
  step(name);
  if (auto synced = into.sync(); !synced)
    return synced;
  step(name);
  return {};
}

// Start records are not synced. If a crash loses one, the only effect is that the member `attempt`
// of a later output line is too small.
result<void> row_writer::put_start_records() {
  if (starts_.empty())
    return {};
  if (auto written = files_.journal.append(starts_); !written)
    return written;
  starts_.clear();
  step("start");
  return {};
}

result<void> row_writer::check_files() const {
  if (!files_.journal.has_its_name())
    return error{errc::invalid_argument,
                 files_.journal.path() + " was removed or replaced while the job ran"};
  if (auto same = expect_untouched(files_.output, output_size_); !same)
    return same;
  return expect_untouched(files_.dead, dead_size_);
}

result<void> row_writer::check_at_end() const {
  return has_failed_ ? result<void>{} : check_files();
}

/// Writes the collected bytes in the order that the class comment states.
result<void> row_writer::write_group() {
  if (auto same = check_files(); !same)
    return same;
  if (auto written = put_start_records(); !written)
    return written;
  if (!dead_.empty())
    if (auto opened = files_.need_dead(); !opened)
      return opened;
  if (auto written = put(files_.dead, dead_, "dead"); !written)
    return written;
  if (auto written = put(files_.output, output_, "output"); !written)
    return written;
  output_size_ = output_end_;
  dead_size_ = dead_end_;
  if (auto written = put(files_.journal, done_, "journal"); !written || view_ == nullptr)
    return written;
  auto shown = view_->add(rows_);
  rows_.clear();
  step("view");
  return shown;
}

} // namespace superstep::detail

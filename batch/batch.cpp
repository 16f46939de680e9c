// SPDX-License-Identifier: Apache-2.0
// Runs a batch job: the calling thread reads the input and submits rows (batch_run.cpp), the
// engine runs them, and the writer thread (row_writer.cpp) stores them in groups. row_table.cpp
// connects the three threads. Rows come from a ledger and are stored in it (job_ledger.hpp); that
// of this file is file_ledger.cpp. job_files.cpp opens the files, and recover.cpp repairs the files
// of an interrupted job.
#include "base/error_words.hpp"
#include "base/file_size_signal.hpp"
#include "base/visible_text.hpp"
#include "batch_run.hpp"
#include "check_options.hpp"
#include "file_ledger.hpp"
#include "job_changes.hpp"
#include "job_files.hpp"
#include "row_view.hpp"
#include "scan.hpp"
#include "stop_decision.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/batch/batch.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace superstep {
namespace {

using namespace detail;

/// Returns the known cost of `rows` rows in US dollars; nullopt if the price of none is known.
std::optional<double> known_cost(const row_counts& counts, std::uint64_t rows) {
  if (counts.rows_unpriced >= rows && counts.cost == 0)
    return std::nullopt;
  return static_cast<double>(counts.cost) / 1e9;
}

/// Returns the summary if an earlier run has finished the job; nullopt if rows are left. A job
/// without a summary file counts as unfinished, so that this run writes the file.
std::optional<batch_summary> finished_before(const job_files& files, const input_facts& facts) {
  const auto& done = files.content;
  // With rows of another input, the numbers do not show which rows of this input are done.
  if (!files.is_resumed || !exists(files.paths.summary) || done.has_other_input ||
      done.ok + done.dead + done.bad_lines.size() < facts.rows.all)
    return std::nullopt;
  auto summary = batch_summary{};
  summary.already_finished = true;
  summary.job_id = done.header->job_id;
  summary.rows = facts.rows.all;
  summary.ok = done.ok;
  summary.bad_lines = done.bad_lines.size();
  summary.failed = done.dead + summary.bad_lines;
  summary.resumed = summary.ok + summary.failed;
  set_counts(summary, done.counts);
  summary.rows_with_failed_calls = done.rows_with_failed_calls;
  set_paths(summary, files);
  if (summary.failed > 0)
    summary.code = exit_code::dead_rows;
  return summary;
}

/// Returns the columns of the output; nullopt if it has whole lines.
result<std::optional<std::vector<output_column>>> view_columns(const batch_options& options,
                                                               const input_facts& facts) {
  using columns = std::optional<std::vector<output_column>>;
  const auto& key = options.id_field;
  if (!key.empty() && key != "id" && !is_row_field(key) &&
      std::ranges::any_of(options.fields, [&](const std::string& field) {
        return field == key || field == "columns." + key;
      }))
    return error{errc::invalid_argument, "--fields: the values of '" + key +
                                             "' are the field id, because of --id-field, and id "
                                             "is always the first field; remove '" +
                                             key + "' from --fields"};
  if (options.fields.empty() && options.format == output_format::jsonl)
    return columns{};
  auto found = columns_of(options.fields, options.format, options.response_fields, facts.columns);
  return found ? result<columns>{*std::move(found)} : found.error();
}

/// Returns the note about the rows that earlier runs have finished.
std::string resumed_note(const ledger_facts& job) {
  auto text = "resumed: " + std::to_string(job.ok + job.dead + job.bad_lines - job.other) + " of " +
              counted(job.rows, "row") + " done";
  if (job.other > 0)
    text += "; the files also have " + counted(job.other, "row") + " of an earlier input";
  return text;
}

/// Returns the numbers of finished rows that the input has. They are those of the journal, unless
/// the job has run with another input.
result<finished_numbers> finished_of_input(const journal_content& done, const row_finder& find) {
  if (done.has_other_input) {
    auto found = find(done);
    return found ? found->numbers : result<finished_numbers>{found.error()};
  }
  const auto failed = done.dead + done.bad_lines.size();
  return finished_numbers{.all = done.ok + failed, .failed = failed};
}

/// Prepares the files for a run. The summary of an earlier run would be wrong from the first new
/// row on, so it is removed.
/// @param view the output to open; null if there is none, or if it is complete
result<void> prepare_files(job_files& files, row_view* view, bool has_rows) {
  if (has_rows && !files.is_piped)
    if (auto dropped = drop_summary(files.paths, files.notes); !dropped)
      return dropped;
  return view != nullptr ? view->begin() : result<void>{};
}

/// Returns the cost and tokens of a summary.
row_expenses expenses_of(const batch_summary& summary) {
  return {.cost = std::llround(summary.cost.value_or(0) * 1e9), .tokens = summary.total_tokens};
}

} // namespace

void detail::set_counts(batch_summary& summary, const row_counts& counts) {
  summary.steps = counts.steps;
  summary.model_calls = counts.model_calls;
  summary.tool_calls = counts.tool_calls;
  summary.input_tokens = counts.input_tokens;
  summary.output_tokens = counts.output_tokens;
  summary.total_tokens = counts.total_tokens;
  summary.cached_answers = counts.cached_answers;
  summary.rows_unpriced = counts.rows_unpriced;
  summary.cost = known_cost(counts, summary.ok + summary.failed - summary.bad_lines);
}

batch_progress detail::batch_run::progress_now() {
  const auto totals = writer_.totals();
  const auto at = monotonic::now();
  if (std::exchange(rows_reported_, totals.rows_this_run) != totals.rows_this_run)
    last_end_ = at;
  auto now = batch_progress{};
  const auto& before = ledger_.facts();
  now.failed = totals.dead + totals.bad_lines - before.other_failed;
  now.done = totals.ok + totals.dead + totals.bad_lines - before.other;
  now.rows = std::max(before.wanted, now.done); // --limit may be lower than in earlier runs
  now.in_flight = table_->in_flight();
  now.tokens = totals.counts.total_tokens;
  now.cost = known_cost(totals.counts, totals.ok + totals.dead);
  now.elapsed_seconds = std::chrono::duration<double>(at - begun_).count();
  now.quiet_seconds = std::chrono::duration<double>(at - last_end_).count();
  if (totals.rows_this_run > 0 && now.elapsed_seconds > 0) {
    now.rows_per_second = static_cast<double>(totals.rows_this_run) / now.elapsed_seconds;
    const auto left = now.rows > now.done ? now.rows - now.done : 0;
    now.eta_seconds = static_cast<double>(left) / now.rows_per_second;
  }
  if (now.cost && totals.ok + totals.dead > 0)
    now.cost_projected =
        *now.cost * static_cast<double>(now.rows) / static_cast<double>(totals.ok + totals.dead);
  now.model_calls = totals.counts.model_calls;
  now.tool_calls = totals.counts.tool_calls;
  now.input_tokens = totals.counts.input_tokens;
  now.output_tokens = totals.counts.output_tokens;
  now.errors = totals.errors;
  now.row_times = totals.row_times;
  now.tool_times = totals.tool_times;
  now.row_time = totals.row_time;
  now.tool_time = totals.tool_time;
  now.barrier_wait = totals.barrier_wait;
  now.p50 = totals.row_times.percentile(0.5);
  now.p95 = totals.row_times.percentile(0.95);
  if (totals.tool_time.count() > 0)
    now.barrier_waste = static_cast<double>(totals.barrier_wait.count()) /
                        static_cast<double>((totals.barrier_wait + totals.tool_time).count());
  if (quota_.is_active())
    now.paused = "quota exhausted";
  now.draining = is_stopping();
  now.last_error = totals.last_error;
  runner_.complete(now);
  ledger_.complete(now);
  return now;
}

batch_summary detail::batch_run::summarise(feed_end end) const {
  const auto totals = writer_.totals();
  auto summary = batch_summary{};
  const auto& before = ledger_.facts();
  summary.job_id = before.identity.job_id;
  summary.rows = before.rows;
  summary.ok = totals.ok;
  summary.failed = totals.dead + totals.bad_lines;
  summary.bad_lines = totals.bad_lines;
  summary.resumed = before.ok + before.dead + before.bad_lines;
  summary.other = before.other;
  set_counts(summary, totals.counts);
  summary.rows_with_failed_calls = totals.rows_with_failed_calls;
  summary.seconds = std::chrono::duration<double>(monotonic::now() - begun_).count();
  summary.rows_this_run = totals.rows_this_run;
  summary.row_times = totals.row_times;
  summary.tool_times = totals.tool_times;
  summary.barrier_waits = totals.barrier_waits;
  summary.errors = totals.errors;
  summary.last_error = last_error(totals.last_error);
  ledger_.complete(summary);
  // The second Ctrl-C may come after the last row was submitted: rows are left, but feed() returned
  // feed_end::input.
  const auto was_stopped =
      end == feed_end::stop || (summary.left() > 0 && (is_aborting_.load() || table_->halted()));
  if (was_stopped && summary.left() > 0) {
    summary.code = exit_code::drained;
    summary.stop = table_->halted().value_or(job_stop{stop_cause::request, "stopped on request"});
    // The rows in flight have ended since the decision, so their costs are in the text too.
    if (summary.stop.cause == stop_cause::budget)
      if (auto now = decide_stop(options_.rules, expenses_of(summary), {}))
        summary.stop = *std::move(now);
    if (summary.stop.cause == stop_cause::failing && is_stopped_by_numbers_)
      add_failures(summary.stop, totals);
  }
  if (summary.stop.cause == stop_cause::none)
    apply_rules_at_end(summary, totals);
  if (summary.code == exit_code::ok && summary.failed > 0)
    summary.code = exit_code::dead_rows;
  return summary;
}

/// Applies the rules about failed rows to a job that was not stopped: the last rows may have failed
/// when no further row was left to start.
void detail::batch_run::apply_rules_at_end(batch_summary& summary,
                                           const written_totals& totals) const {
  auto rules = stop_rules{};
  rules.dead_max = options_.rules.dead_max;
  rules.error_rate_max = options_.rules.error_rate_max;
  auto failing = decide_stop(rules, table_->expenses(), {});
  if (!failing)
    return;
  summary.code = exit_code::drained;
  summary.stop = *std::move(failing);
  add_failures(summary.stop, totals);
  summary.stop.is_at_end = true;
}

/// Completes the reason of a job that stopped because more rows have failed than its rules allow:
/// the latest error, and the rows that failure_watch has held until the end.
void detail::batch_run::add_failures(job_stop& stop, const written_totals& totals) const {
  const auto used = table_->expenses();
  if (auto now = decide_stop(options_.rules, used, ledger_.spent_elsewhere());
      now && now->cause == stop_cause::failing)
    stop = *std::move(now); // more rows may have failed since the decision
  constexpr auto error_bytes_max = std::size_t{300};
  if (!totals.last_error.empty())
    stop.text += ": " + one_line(totals.last_error, error_bytes_max);
  const auto written = totals.dead - ledger_.facts().dead;
  if (used.failed > written)
    stop.text += ". " + counted(used.failed - written, "failed row") +
                 " may succeed when the cause is corrected, so they are not " +
                 (options_.output == "-" ? "in the output"
                                         : "dead letters and run again when the job is resumed");
}

/// Returns the latest error of the calls of rows that did not end or, if there is none, of a row.
std::string detail::batch_run::last_error(std::string of_rows) const {
  auto now = batch_progress{};
  now.last_error = std::move(of_rows);
  runner_.complete(now);
  return std::move(now.last_error);
}

result<void> row_runner::begin_job(const std::string& /*job*/) {
  return {};
}

void row_runner::complete(batch_progress& /*now*/) const {}

result<batch_summary> run_batch(const batch_options& options, row_runner& runner,
                                progress_sink& progress, const stop_request& stop) {
  if (auto checked = check_options(options); !checked)
    return checked.error();
  const auto no_signal = file_size_signal_blocked{};
  // Returns the result of a job that could not read its input or open its files.
  const auto not_begun = [&](error why) -> result<batch_summary> {
    if (why.code == errc::shortage && options.output != "-")
      why.text += "; finished rows are safe, fix this and rerun to resume";
    if (why.code != errc::cancelled)
      return why;
    auto summary = batch_summary{};
    summary.code = exit_code::drained;
    summary.stop = {stop_cause::request, "stopped on request"};
    summary.output = options.output;
    summary.is_resumable = options.output != "-";
    return summary;
  };
  auto input = open_rows(options, stop);
  if (!input)
    return not_begun(input.error());
  auto facts = scan_input(*input, options, stop);
  if (!facts)
    return not_begun(facts.error());
  auto columns = view_columns(options, *facts);
  if (!columns)
    return columns.error();
  const auto header = new_header(options, facts->digest, facts->format);
  const auto find = [&](const journal_content& done) {
    return find_finished_rows(*input, *facts, options, done, stop);
  };
  auto files = open_job(options, header, find);
  if (!files)
    return not_begun(files.error());
  auto finished = finished_before(*files, *facts);
  auto view = std::optional<row_view>{};
  if (has_view(options))
    view.emplace(*files, options, *std::move(columns), stop);
  const auto has_work = !finished || (view && !view->is_current());
  if (auto prepared = prepare_files(*files, view && has_work ? &*view : nullptr, !finished);
      !prepared)
    return not_begun(prepared.error());
  for (const auto& note : files->notes)
    progress.note(note);
  if (!has_work)
    return *std::move(finished);
  const auto of_input = finished_of_input(files->content, find);
  if (!of_input)
    return not_begun(of_input.error());
  auto ledger = file_ledger{*files, *input, *facts, *of_input, options, view ? &*view : nullptr};
  if (files->is_resumed && !finished)
    progress.note(resumed_note(ledger.facts()));
  if (const auto note = price_note(*files->content.header, header);
      files->is_resumed && !finished && !note.empty())
    progress.note(note);
  if (!finished)
    if (auto begun = runner.begin_job(files->content.header->job_id); !begun)
      return begun.error();
  auto run = batch_run{options, runner, progress, stop, ledger};
  auto summary = run.run();
  if (finished && summary) // only the output was written again
    return *std::move(finished);
  if (!summary || files->is_piped)
    return summary;
  if (auto written = file::replace_content(files->paths.summary,
                                           to_text(json::value(to_json(*summary))) + '\n');
      !written)
    return written.error();
  if (options.on_disk_step)
    options.on_disk_step("summary");
  return summary;
}

} // namespace superstep

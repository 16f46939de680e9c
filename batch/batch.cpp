// SPDX-License-Identifier: Apache-2.0
// Runs a batch job: the calling thread reads the input and submits rows (class batch_run), the
// engine runs them, and the writer thread (row_writer.cpp) writes them in groups. row_table.cpp
// connects the three threads. job_files.cpp opens the files, and recover.cpp repairs the files of
// an interrupted job.
#include "base/digest.hpp"
#include "base/error_words.hpp"
#include "base/file_size_signal.hpp"
#include "check_options.hpp"
#include "duration_text.hpp"
#include "job_changes.hpp"
#include "job_files.hpp"
#include "quota_control.hpp"
#include "row_source.hpp"
#include "row_table.hpp"
#include "row_view.hpp"
#include "row_writer.hpp"
#include "scan.hpp"
#include "shortage_control.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/batch/batch.hpp>

#include <algorithm>
#include <new>
#include <random>
#include <thread>

#include <unistd.h>

namespace superstep {
namespace {

using namespace detail;
using monotonic = std::chrono::steady_clock;

// The thread that submits rows polls for stop requests at this interval. A signal handler may not
// notify a condition variable, so it cannot wake the thread.
/// Interval at which the result of a probe of the quota is polled.
constexpr auto probe_poll = std::chrono::milliseconds{5};
constexpr auto quota_wait_default = std::chrono::hours{1};
constexpr auto stop_poll = std::chrono::milliseconds{50};

/// Returns an id for a new job: `run-` and 12 random hexadecimal digits.
std::string new_job_id() {
  auto random = std::random_device{};
  auto id = std::string{"run-"};
  for (auto i = 0; i < 12; ++i)
    id += "0123456789abcdef"[random() & 15U];
  return id;
}

job_header header_of(const batch_options& options, const input_facts& facts) {
  const auto& print = options.fingerprint;
  auto seconds = options.time->now().time_since_epoch() / std::chrono::seconds{1};
  return {.job_id = new_job_id(),
          .created = static_cast<std::int64_t>(seconds),
          .agent = digest_text(print.agent),
          .tools = digest_text(print.tools),
          .model = digest_text(print.model),
          .parameters = digest_text(print.parameters),
          .input = facts.digest,
          .format = facts.format,
          .id_field = options.id_field,
          .shard = shard_text(options),
          .sample = sample_text(options),
          .repeat = repeat_text(options),
          .layout = std::string{has_view(options) ? rows_layout : std::string_view{}},
          .keys = keys_text(print)};
}

row_origin origin_of(const input_item& item) {
  auto origin = row_origin{};
  origin.line = item.line.number;
  origin.offset = item.line.offset;
  origin.size = item.line.size;
  // An invalid line may have an `error` member. For a valid line, feed_item() sets the correct
  // value.
  origin.has_error = true;
  return origin;
}

void set_paths(batch_summary& summary, const job_files& files) {
  const auto& paths = files.paths;
  summary.output = files.is_piped       ? "standard output"
                   : paths.view.empty() ? paths.output
                                        : paths.view;
  if (!files.is_piped)
    summary.dead = paths.dead;
}

/// Returns the known cost of `rows` rows in US dollars; nullopt if the price of none is known.
std::optional<double> known_cost(const row_counts& counts, std::uint64_t rows) {
  if (counts.rows_unpriced >= rows)
    return std::nullopt;
  return static_cast<double>(counts.cost) / 1e9;
}

/// Stores the cost of the job. It is not known if the price of no row is known.
void set_cost(batch_summary& summary, const row_counts& counts) {
  summary.rows_unpriced = counts.rows_unpriced;
  if (const auto cost = known_cost(counts, summary.ok + summary.failed))
    summary.cost = *cost;
}

/// One run of a job: submits rows until the input ends or the job is stopped.
class batch_run {
public:
  batch_run(const batch_options& options, row_runner& runner, progress_sink& progress,
            const stop_request& stop, const input_file& input, const input_facts& facts,
            job_files& files, row_view* view)
      : options_{options}, runner_{runner}, progress_{progress}, stop_{stop}, facts_{facts},
        files_{files}, view_{view}, shortages_{options.concurrency, options.shortage_wait},
        quota_{options.rules.quota_wait.value_or(quota_wait_default)},
        expenses_before_{.cost = files.content.counts.cost,
                         .tokens = files.content.counts.total_tokens},
        table_{std::make_shared<row_table>(options.concurrency, options.write_queue_max)},
        source_{input, facts, options},
        writer_{*table_, files, input, options, is_aborting_, view} {}

  result<batch_summary> run();

private:
  /// Why no further row is submitted: end of the rows of the job or --limit, or a stop request or
  /// failure.
  enum class feed_end : std::uint8_t { input, stop };

  result<feed_end> fed();
  result<feed_end> feed();
  result<feed_end> feed_input();
  result<void> feed_returned();
  void take_returned();
  result<void> feed_item(input_item& item);
  [[nodiscard]] error rescue(const error& why);
  void submit(input_row row, row_origin origin);
  bool wait_for_room();
  void wait_until_idle();
  void take_returned_row(finished_row& row, monotonic::time_point now);
  void wait_for_quota(const std::string& text, monotonic::time_point now);
  void announce_drain(monotonic::time_point now);
  [[nodiscard]] bool is_stopping() const;
  void abort();
  void report_when_due();
  [[nodiscard]] batch_progress progress_now() const;
  [[nodiscard]] batch_summary summarise(feed_end end) const;

  const batch_options& options_;
  row_runner& runner_;
  progress_sink& progress_;
  const stop_request& stop_;
  const input_facts& facts_;
  job_files& files_;
  row_view* view_; ///< null if the output has the whole lines of rows
  shortage_control shortages_;
  quota_control quota_;
  row_expenses expenses_before_;  ///< of earlier runs of the job
  std::vector<row_origin> again_; ///< rows that ended in a shortage, to submit again
  std::atomic<bool> is_aborting_{false};
  std::shared_ptr<row_table> table_; // shared with the callbacks of rows
  row_source source_;
  row_writer writer_;
  monotonic::time_point begun_ = monotonic::now();
  monotonic::time_point next_report_ = begun_;
  std::optional<monotonic::time_point> failed_at_;
  std::optional<monotonic::time_point> drained_at_; ///< when the job stopped to start rows
  std::uint64_t rows_skipped_ = 0; // because an earlier run has finished them
};

result<batch_summary> batch_run::run() {
  if (auto started = writer_.start(); !started)
    return started.error();
  auto end = fed();
  if (!end)
    abort();
  wait_until_idle();
  table_->close(!end || *end == feed_end::stop || is_stopping());
  writer_.join();
  // Rows that wait for an unfinished row are written even after a failure.
  auto shown = view_ != nullptr ? view_->finish() : result<void>{};
  progress_.finish(progress_now());
  // A failed write comes first: it explains why later rows were not submitted.
  if (auto failure = table_->failure())
    return rescue(*failure);
  if (auto same = writer_.check_at_end(); !same)
    return rescue(same.error());
  if (!end)
    return end.error();
  if (!shown)
    return rescue(shown.error());
  return summarise(*end);
}

/// Returns the error of a failed job, with advice for the user. If another process has deleted or
/// replaced a file of the job, its content is copied to a new file first: only the open descriptor
/// of this process can still read it.
error batch_run::rescue(const error& why) {
  auto text = why.text;
  if (files_.is_piped) // nothing can be resumed
    return {why.code, std::move(text)};
  for (const auto* lost : {&files_.output, &files_.dead, &files_.journal}) {
    if (!lost->is_open() || lost->has_its_name())
      continue;
    auto kept = copy_to_free_name(*lost);
    if (!kept)
      return {kept.error().code, text + "; its rows could not be saved: " + kept.error().text};
    text += "; its content was saved as " + *kept;
    if (*kept != lost->path())
      text += ", which must take its place before the job is run again";
  }
  // The error text for a changed file already includes advice; see expect_untouched().
  const auto was_changed = why.code == errc::invalid_argument && text == why.text;
  if (!was_changed)
    text += "; finished rows are safe, fix this and rerun to resume";
  return {why.code, std::move(text)};
}

/// Returns a shortage of memory as an error, because the rows in flight must end before run()
/// returns.
result<batch_run::feed_end> batch_run::fed() {
  try {
    return feed();
  } catch (const std::bad_alloc&) {
    return error{errc::shortage, "out of memory"};
  }
}

/// Submits all rows. Rows that ended in a shortage are submitted again, until no row is left.
result<batch_run::feed_end> batch_run::feed() {
  auto end = feed_input();
  while (end && *end != feed_end::stop) {
    take_returned();
    if (is_stopping() || table_->failure())
      return feed_end::stop;
    if (!again_.empty()) {
      if (!wait_for_room())
        return feed_end::stop;
      if (auto fed = feed_returned(); !fed)
        return fed.error();
      continue;
    }
    if (table_->wait_until_idle(monotonic::now() + stop_poll)) {
      take_returned();
      if (again_.empty())
        break;
    }
    report_when_due();
  }
  return end;
}

/// Submits again one of the rows that ended in a shortage.
result<void> batch_run::feed_returned() {
  auto origin = std::move(again_.back());
  again_.pop_back();
  auto row = source_.reread(origin.line, origin.offset, origin.size, origin.sample);
  if (!row)
    return row.error();
  ++origin.attempt;
  submit(std::move(*row), std::move(origin));
  return {};
}

/// Takes the rows that ended in a shortage out of the table, and adapts the concurrency. The user
/// is informed once per shortage, not once per row.
void batch_run::take_returned() {
  auto returned = table_->take_returned();
  const auto now = monotonic::now();
  shortages_.finished(returned.finished, now);
  for (auto& row : returned.rows)
    take_returned_row(row, now);
  if (quota_.finished(returned.finished, now))
    progress_.note("the quota is available again; the job continues");
  table_->set_concurrency(shortages_.rows());
}

void batch_run::take_returned_row(finished_row& row, monotonic::time_point now) {
  const auto& fault = *row.outcome.fault;
  if (fault.what == row_fault::kind::quota) {
    wait_for_quota(fault.text, now);
  } else {
    if (shortages_.met(now))
      progress_.note("the machine lacks resources, so fewer rows run at a time and row " +
                     row.origin.key + " runs again: " + fault.text);
    if (shortages_.is_hopeless(now))
      table_->fail({errc::shortage, fault.text});
  }
  again_.push_back(std::move(row.origin));
}

/// Pauses the job, because the quota of the provider's account is exhausted. A job without a
/// success stops at once, so that a person sees it, unless the wait was set explicitly.
void batch_run::wait_for_quota(const std::string& text, monotonic::time_point now) {
  const auto is_first = quota_.met(now);
  const auto used = table_->expenses();
  const auto may_wait = options_.rules.quota_wait || used.rows > used.failed;
  if (!may_wait || quota_.is_hopeless(now))
    return table_->halt({stop_cause::quota,
                         "the quota of the provider's account is exhausted: " + text +
                             ". No row was lost. Rerun when the quota is available again, or set "
                             "--quota-wait to wait for it"});
  if (is_first)
    progress_.note("the quota of the provider's account is exhausted, so the job pauses and tries "
                   "again from time to time: " +
                   text);
}

result<batch_run::feed_end> batch_run::feed_input() {
  while (true) {
    if (!wait_for_room())
      return feed_end::stop;
    if (!again_.empty()) {
      if (auto fed = feed_returned(); !fed)
        return fed.error();
      continue;
    }
    auto item = source_.next();
    if (!item)
      return item.error();
    if (!*item)
      return feed_end::input;
    if (auto fed = feed_item(**item); !fed)
      return fed.error();
    report_when_due();
  }
}

result<void> batch_run::feed_item(input_item& item) {
  auto& done = files_.content;
  auto origin = origin_of(item);
  // An earlier run may have written the dead letter of this line already. The line may be valid
  // now, because --max-line-bytes was raised.
  if (done.bad_lines.contains(item.line.number)) {
    ++rows_skipped_;
    return {};
  }
  // An earlier run may have finished the row of a line that is too long since --max-line-bytes was
  // lowered.
  const auto long_key = done.done.empty() ? std::nullopt : source_.key_of_long_line(item);
  if (long_key && done.done.contains(*long_key)) {
    ++rows_skipped_;
    if (view_ != nullptr)
      view_->skip(*long_key);
    return {};
  }
  if (!item.row) {
    if (options_.bad_lines == on_bad_line::fail)
      return error{errc::parse_failed,
                   "line " + std::to_string(item.line.number) +
                       " of the input was changed while the job ran: " + item.row.error().text};
    table_->add_bad_line(std::move(origin), item.row.error(), item.is_duplicate);
    return {};
  }
  auto& row = *item.row;
  const auto key = digest_of(row.request.key);
  if (done.done.contains(key)) { // an earlier run of the job has finished the row
    ++rows_skipped_;
    if (view_ != nullptr)
      view_->skip(key);
    return {};
  }
  origin.shape = row.shape;
  origin.key = row.request.key;
  origin.key_name = row.key_name;
  origin.has_error = row.has_error;
  origin.is_numbered = row.is_numbered;
  origin.id_member = row.id_member;
  origin.sample = options_.repeat > 1 ? row.request.sample : 0;
  origin.columns = std::move(row.columns);
  origin.has_foreign_key = !options_.id_field.empty() || row.shape == row_shape::columns;
  if (auto before = done.starts.find(key); before != done.starts.end())
    origin.attempt = before->second + 1;
  if (view_ != nullptr)
    origin.place = view_->expect();
  submit(std::move(row), std::move(origin));
  return {};
}

void batch_run::submit(input_row row, row_origin origin) {
  auto& config = row.request.config;
  config.deadline = options_.row_deadline;
  if (config.recursion_limit == 0)
    config.recursion_limit = options_.recursion_limit;
  row.request.job = files_.content.header->job_id;
  // The slot must exist before submit(), which may call back before it returns. The callback shares
  // ownership of the table, because an aborted row may end after this object is destroyed.
  const auto slot = table_->begin(std::move(origin));
  quota_.started(monotonic::now());
  try {
    auto handle =
        runner_.submit(std::move(row.request), [table = table_, slot](row_outcome outcome) {
          table->finish(slot, std::move(outcome));
        });
    table_->attach(slot, std::move(handle));
  } catch (const std::bad_alloc&) { // the row was not started
    auto outcome = row_outcome{};
    outcome.fault.emplace(row_fault{row_fault::kind::shortage, "out of memory"});
    table_->finish(slot, std::move(outcome));
  }
}

/// Waits until another row may start. Returns false if no further row may start, because a stop was
/// requested or the job has failed.
bool batch_run::wait_for_room() {
  while (!is_stopping()) {
    if (auto stop = decide_stop(options_.rules, table_->expenses(), expenses_before_))
      table_->halt(*std::move(stop));
    const auto has_room = table_->wait_for_room(monotonic::now() + stop_poll);
    if (!has_room || shortages_.is_active() || quota_.is_active())
      take_returned();
    if (table_->failure() || table_->halted())
      return false;
    const auto now = monotonic::now();
    const auto pause = std::max(shortages_.pause(now), quota_.pause(now));
    if (has_room && pause.count() == 0 && quota_.may_start(now))
      return true;
    if (has_room && pause.count() == 0) // a probe of the quota runs
      std::this_thread::sleep_for(probe_poll);
    if (pause.count() > 0)
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(pause, stop_poll));
    report_when_due();
  }
  return false;
}

/// Waits until all running rows have ended. Aborts them on request, or if they do not end within
/// failure_drain after a failure.
void batch_run::wait_until_idle() {
  while (!table_->wait_until_idle(monotonic::now() + stop_poll)) {
    const auto now = monotonic::now();
    if (!failed_at_ && table_->failure())
      failed_at_ = now;
    if (!drained_at_ && is_stopping())
      announce_drain(now);
    const auto& timeout = options_.rules.drain_timeout;
    if (drained_at_ && timeout && now - *drained_at_ >= *timeout && !is_aborting_) {
      progress_.note("the drain timeout has passed; the rows in flight are cancelled and run again "
                     "when the job is resumed");
      abort();
    }
    if (stop_.current() == stop_request::abort ||
        (failed_at_ && now - *failed_at_ >= options_.failure_drain))
      abort();
    report_when_due();
  }
}

/// Whether the job was stopped before its end, so that no further row may start.
bool batch_run::is_stopping() const {
  return stop_.current() != stop_request::none || table_->halted();
}

/// Reports how many rows are in flight when the job stops to start rows, and how long they may
/// take.
void batch_run::announce_drain(monotonic::time_point now) {
  drained_at_ = now;
  const auto running = table_->running();
  if (running.count == 0)
    return;
  const auto seconds = [](std::chrono::nanoseconds duration) {
    return duration_text(std::chrono::duration<double>(duration).count());
  };
  auto text = "draining: " + counted(running.count, "row") + " in flight, the oldest for " +
              seconds(now - running.oldest);
  const auto totals = writer_.totals();
  if (const auto p95 = totals.row_times.percentile(0.95); p95.count() > 0) {
    const auto left = p95 - (now - running.newest);
    text += "; 95 % of the rows take at most " + seconds(p95) + ", so this takes about " +
            seconds(std::max(left, std::chrono::nanoseconds{0}));
  }
  if (const auto& timeout = options_.rules.drain_timeout)
    text += "; rows in flight are cancelled after " + seconds(*timeout);
  progress_.note(text + (stop_.current() != stop_request::none ? ". Ctrl-C cancels them now" : ""));
}

void batch_run::abort() {
  is_aborting_.store(true);
  table_->cancel_all();
}

void batch_run::report_when_due() {
  const auto now = monotonic::now();
  if (now < next_report_ && !progress_.is_outdated())
    return;
  next_report_ = now + progress_.interval();
  try {
    progress_.update(progress_now());
  } catch (const std::bad_alloc&) { // the next report follows; the rows must not be affected
  }
}

batch_progress batch_run::progress_now() const {
  const auto totals = writer_.totals();
  auto now = batch_progress{};
  now.rows = facts_.rows.wanted;
  now.failed = totals.dead + totals.bad_lines;
  now.done = totals.ok + now.failed;
  now.in_flight = table_->in_flight();
  now.tokens = totals.counts.total_tokens;
  now.cost = known_cost(totals.counts, totals.ok + totals.dead);
  now.elapsed_seconds = std::chrono::duration<double>(monotonic::now() - begun_).count();
  if (totals.rows_this_run > 0 && now.elapsed_seconds > 0) {
    now.rows_per_second = static_cast<double>(totals.rows_this_run) / now.elapsed_seconds;
    const auto left = now.rows > now.done ? now.rows - now.done : 0;
    now.eta_seconds = static_cast<double>(left) / now.rows_per_second;
  }
  if (now.cost && now.done > 0)
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
  return now;
}

batch_summary batch_run::summarise(feed_end end) const {
  const auto totals = writer_.totals();
  auto summary = batch_summary{};
  summary.job_id = files_.content.header->job_id;
  summary.rows = facts_.rows.all;
  summary.ok = totals.ok;
  summary.failed = totals.dead + totals.bad_lines;
  summary.bad_lines = totals.bad_lines;
  summary.resumed = files_.content.ok + files_.content.dead + files_.content.bad_lines.size();
  if (files_.content.has_other_input)
    summary.other = summary.resumed - rows_skipped_;
  summary.steps = totals.counts.steps;
  summary.model_calls = totals.counts.model_calls;
  summary.tool_calls = totals.counts.tool_calls;
  summary.rows_with_failed_calls = totals.rows_with_failed_calls;
  summary.input_tokens = totals.counts.input_tokens;
  summary.output_tokens = totals.counts.output_tokens;
  summary.total_tokens = totals.counts.total_tokens;
  summary.cached_answers = totals.counts.cached_answers;
  set_cost(summary, totals.counts);
  summary.seconds = std::chrono::duration<double>(monotonic::now() - begun_).count();
  summary.rows_this_run = totals.rows_this_run;
  summary.row_times = totals.row_times;
  summary.tool_times = totals.tool_times;
  summary.barrier_waits = totals.barrier_waits;
  set_paths(summary, files_);
  // The second Ctrl-C may come after the last row was submitted: rows are left, but feed() returned
  // feed_end::input.
  const auto was_stopped =
      end == feed_end::stop || (summary.left() > 0 && (is_aborting_.load() || table_->halted()));
  if (was_stopped && summary.left() > 0) {
    summary.code = exit_code::drained;
    summary.stop = table_->halted().value_or(job_stop{stop_cause::request, "stopped on request"});
  }
  if (summary.code == exit_code::ok && summary.failed > 0)
    summary.code = exit_code::dead_rows;
  return summary;
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
  summary.steps = done.counts.steps;
  summary.model_calls = done.counts.model_calls;
  summary.tool_calls = done.counts.tool_calls;
  summary.rows_with_failed_calls = done.rows_with_failed_calls;
  summary.input_tokens = done.counts.input_tokens;
  summary.output_tokens = done.counts.output_tokens;
  summary.total_tokens = done.counts.total_tokens;
  summary.cached_answers = done.counts.cached_answers;
  set_cost(summary, done.counts);
  set_paths(summary, files);
  if (summary.failed > 0)
    summary.code = exit_code::dead_rows;
  return summary;
}

/// Returns the columns of the output; nullopt if it has whole lines.
result<std::optional<std::vector<output_column>>> view_columns(const batch_options& options,
                                                               const input_facts& facts) {
  using columns = std::optional<std::vector<output_column>>;
  if (options.fields.empty() && options.format == output_format::jsonl)
    return columns{};
  auto found = columns_of(options.fields, options.format, options.response_fields, facts.columns);
  return found ? result<columns>{*std::move(found)} : found.error();
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

} // namespace

result<void> row_runner::begin_job(const std::string& /*job*/) {
  return {};
}

result<batch_summary> run_batch(const batch_options& options, row_runner& runner,
                                progress_sink& progress, const stop_request& stop) {
  if (auto checked = check_options(options); !checked)
    return checked.error();
  const auto no_signal = file_size_signal_blocked{};
  auto input = open_rows(options);
  if (!input)
    return input.error();
  auto facts = scan_input(*input, options, stop);
  if (!facts && facts.error().code == errc::cancelled) {
    auto summary = batch_summary{};
    summary.code = exit_code::drained;
    summary.stop = {stop_cause::request, "stopped on request"};
    summary.output = options.output;
    return summary;
  }
  if (!facts)
    return facts.error();
  auto columns = view_columns(options, *facts);
  if (!columns)
    return columns.error();
  auto files = open_job(options, header_of(options, *facts));
  if (!files)
    return files.error();
  auto finished = finished_before(*files, *facts);
  auto view = std::optional<row_view>{};
  if (has_view(options))
    view.emplace(*files, options, *std::move(columns), stop);
  const auto has_work = !finished || (view && !view->is_current());
  if (auto prepared = prepare_files(*files, view && has_work ? &*view : nullptr, !finished);
      !prepared)
    return prepared.error();
  for (const auto& note : files->notes)
    progress.note(note);
  if (!has_work)
    return *std::move(finished);
  if (files->is_resumed && !finished)
    progress.note("resumed: " + std::to_string(files->content.ok + files->content.dead) + " of " +
                  counted(facts->rows.all, "row") + " done");
  if (!finished)
    if (auto begun = runner.begin_job(files->content.header->job_id); !begun)
      return begun.error();
  auto run =
      batch_run{options, runner, progress, stop, *input, *facts, *files, view ? &*view : nullptr};
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

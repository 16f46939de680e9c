// SPDX-License-Identifier: Apache-2.0
// Submits the rows of a job to the row_runner and waits for their ends. Rows that ended because of
// a shortage or an exhausted quota are submitted again. batch.cpp starts the run and reports it.
#include "batch_run.hpp"

#include "base/error_words.hpp"
#include "duration_text.hpp"

#include <superstep/base/detail/assert.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <thread>
#include <utility>

namespace superstep::detail {

namespace {

/// The interval at which the result of a probe of the quota is polled.
constexpr auto probe_poll = std::chrono::milliseconds{5};
/// The interval at which the thread that submits rows polls for stop requests. A signal handler may
/// not notify a condition variable, so it cannot wake the thread.
constexpr auto stop_poll = std::chrono::milliseconds{50};

/// Returns the beginning of the note about a drain: why the job stops.
std::string_view drain_reason(stop_cause cause) noexcept {
  switch (cause) {
  case stop_cause::failing:
    return "the job stops because rows fail; ";
  case stop_cause::budget:
    return "the job stops because of its budget; ";
  case stop_cause::quota:
    return "the job stops because the quota is exhausted; ";
  case stop_cause::ledger:
    return "the job stops because of its database; ";
  case stop_cause::none:
  case stop_cause::request:
    break;
  }
  return {};
}

} // namespace

result<batch_summary> batch_run::run() {
  if (auto started = writer_.start(); !started)
    return started.error();
  enable_chains();
  auto end = fed();
  table_->disable_chains();
  if (!end)
    abort();
  wait_until_idle();
  table_->close(!end || *end == feed_end::stop || is_stopping());
  while (!writer_.wait_until_written(monotonic::now() + stop_poll))
    report_when_due(); // a ledger may be away for minutes
  writer_.join();
  auto finished = ledger_.finish();
  note_unknown_usage();
  progress_.finish(progress_now());
  // A failed write comes first: it explains why later rows were not submitted.
  if (auto failure = table_->failure())
    return ledger_.rescue(*failure);
  if (auto same = writer_.has_failed() ? result<void>{} : ledger_.verify(); !same)
    return ledger_.rescue(same.error());
  if (!end)
    return end.error();
  if (!finished)
    return ledger_.rescue(finished.error());
  return summarise(*end);
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

/// Submits all rows. Rows that ended in a fault are submitted again, until no row is left.
result<batch_run::feed_end> batch_run::feed() {
  auto end = feed_input();
  table_->end_ready();
  while (end && *end != feed_end::stop) {
    take_returned();
    if (is_stopping() || table_->failure())
      return feed_end::stop;
    if (!again_.empty() || table_->has_ready()) {
      if (!wait_for_room())
        return feed_end::stop;
      if (start_ready() || again_.empty())
        continue;
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

/// Submits again one of the rows that ended in a fault.
result<void> batch_run::feed_returned() {
  auto origin = std::move(again_.back());
  again_.pop_back();
  auto row = ledger_.reread(origin);
  if (!row)
    return row.error();
  ++origin.attempt;
  static_cast<void>(submit(std::move(*row), std::move(origin)));
  start_published();
  return {};
}

/// Takes the rows that ended in a fault out of the table, and adapts the concurrency. The user is
/// informed once per shortage, not once per row.
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
  const auto& fault = *row.fault;
  if (fault.what == row_fault::kind::quota) {
    wait_for_quota(fault.text, now);
  } else if (fault.what == row_fault::kind::shortage) { // the table ends the job if it is broken
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
  if (!may_wait || quota_.is_hopeless(now)) {
    table_->halt({stop_cause::quota,
                  "the quota of the provider's account is exhausted: " + text +
                      ". No row was lost. Rerun when the quota is available again, or set "
                      "--quota-wait to wait for it"});
    return;
  }
  if (is_first)
    progress_.note("the quota of the provider's account is exhausted, so the job pauses and tries "
                   "again from time to time: " +
                   text);
}

result<batch_run::feed_end> batch_run::feed_input() {
  while (true) {
    const auto room = wait_for_room();
    if (!room)
      return feed_end::stop;
    if (!again_.empty()) {
      if (auto fed = feed_returned(); !fed)
        return fed.error();
      continue;
    }
    if (room->has_ready && room->may_start && start_ready())
      continue;
    const auto is_at_end = read_rows();
    if (!is_at_end)
      return is_at_end.error();
    if (*is_at_end)
      return feed_end::input;
    report_when_due();
  }
}

/// Reads one row or, if no row may start at once, a group of rows ahead. Returns whether the ledger
/// has no further row.
result<bool> batch_run::read_rows() {
  auto reads_on = true;
  while (reads_on) {
    auto item = ledger_.next();
    if (!item)
      return item.error();
    reads_on = *item && feed_item(**item);
    if (!*item && ledger_.is_at_end()) {
      start_published();
      return true;
    }
  }
  start_published();
  return false;
}

/// Returns whether the next row may be read before this one starts.
bool batch_run::feed_item(ledger_item& item) {
  if (item.row)
    return submit(*std::move(item.row), std::move(item.origin), item.group);
  table_->add_bad_line(std::move(item.origin), item.row.error(), item.is_duplicate);
  return false;
}

/// Starts a row, or adds it to the rows that are read ahead. Returns whether the next row may be
/// read before start_published() is called.
bool batch_run::submit(input_row&& row, row_origin&& origin, std::uint32_t group) {
  auto& config = row.request.config;
  config.deadline = options_.row_deadline;
  if (config.recursion_limit == 0)
    config.recursion_limit = options_.recursion_limit;
  row.request.job = ledger_.facts().identity.job_id;
  row.request.attempt = origin.attempt;
  if (is_chained_)
    return table_->read_ahead(std::move(row.request), std::move(origin));
  const auto started = table_->begin(std::move(row.request), std::move(origin));
  quota_.started(monotonic::now());
  if (group != prefix_groups::ungrouped)
    ledger_.groups()->started(group);
  start_row(started, group);
  return false;
}

/// Lets the rows that were read ahead start.
void batch_run::start_published() {
  if (is_chained_ && table_->publish())
    static_cast<void>(start_ready());
}

/// Starts the first of the rows that were read ahead. Returns false if there is none or no further
/// row may run.
bool batch_run::start_ready() {
  const auto next = table_->take_ready();
  if (!next)
    return false;
  quota_.started(monotonic::now());
  start_row(*next, prefix_groups::ungrouped);
  return true;
}

bool batch_run::may_start(const row_expenses& used) const {
  return stop_.current() == stop_request::none &&
         !decide_stop(options_.rules, used, ledger_.spent_elsewhere());
}

void batch_run::start(started_row row) noexcept {
  start_row(row, prefix_groups::ungrouped);
}

/// Starts a row. May be called by any thread. After runner_.submit(), the job may have ended and
/// this object may be destroyed, so only the table is used.
void batch_run::start_row(started_row row, std::uint32_t group) {
  // The callback shares ownership of the table, because an aborted row may end after this object is
  // destroyed.
  const auto end = [table = table_, row, groups = ledger_.groups(), group](row_outcome&& outcome) {
    table->finish(row, std::move(outcome));
    if (group != prefix_groups::ungrouped)
      groups->ended(group);
  };
  const auto table = table_;
  try {
    row_table::attach(row, runner_.submit(std::move(row->request), end));
  } catch (const std::bad_alloc&) { // the row was not started
    auto outcome = row_outcome{};
    outcome.fault.emplace(row_fault{row_fault::kind::shortage, "out of memory"});
    end(std::move(outcome));
  }
}

/// Lets the threads that end rows start the next ones, unless the job must decide before each
/// start.
void batch_run::enable_chains() {
  if (is_chained_ && again_.empty() && !shortages_.is_active() && !quota_.is_active())
    table_->enable_chains(*this);
}

/// Waits until another row may start or be read ahead. Returns nullopt if no further row may start,
/// because a stop was requested or the job has failed.
std::optional<row_table::room> batch_run::wait_for_room() {
  while (stop_.current() == stop_request::none) {
    const auto room = table_->wait_for_room(monotonic::now() + stop_poll);
    if (room.has_ended)
      return std::nullopt;
    if (auto stop = decide_stop(options_.rules, room.used, ledger_.spent_elsewhere())) {
      is_stopped_by_numbers_ = table_->halt(*std::move(stop)) || is_stopped_by_numbers_;
      return std::nullopt;
    }
    if (!room.is_any() || shortages_.is_active() || quota_.is_active()) {
      take_returned(); // may end the job
      if (table_->failure() || table_->halted())
        return std::nullopt;
    }
    if (!room.has_chains)
      enable_chains();
    const auto now = monotonic::now();
    const auto pause = std::max(shortages_.pause(now), quota_.pause(now));
    // Rows that run again do not wait for the warm-up of a group.
    const auto is_ready = !again_.empty() || ledger_.is_ready();
    if (room.is_any() && pause.count() == 0 && is_ready && quota_.may_start(now))
      return room;
    if (room.is_any() && pause.count() == 0) // a probe of the quota or a warm-up runs
      std::this_thread::sleep_for(probe_poll);
    if (pause.count() > 0)
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(pause, stop_poll));
    report_when_due();
  }
  return std::nullopt;
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
    if (drained_at_ && !is_aborting_)
      cancel_drain_if_due(now);
    const auto is_unread = failed_at_ && table_->failure()->code == std::errc::broken_pipe;
    if (stop_.current() == stop_request::abort || is_unread ||
        (failed_at_ && now - *failed_at_ >= options_.failure_drain))
      abort();
    report_when_due();
  }
}

/// Cancels the rows in flight if nothing is gained by waiting for them, or if the user does not
/// want to wait.
void batch_run::cancel_drain_if_due(monotonic::time_point now) {
  const auto* const cancelled =
      options_.output == "-" ? "the rows in flight are cancelled"
                             : "the rows in flight are cancelled and run again when the job is "
                               "resumed";
  const auto& timeout = options_.rules.drain_timeout;
  if (timeout && now - *drained_at_ >= *timeout)
    progress_.note(std::string{"the drain timeout has passed; "} + cancelled);
  else if (is_own_drain_ && stop_.current() != stop_request::none)
    progress_.note(std::string{"stopped on request; "} + cancelled);
  else if (is_drain_hopeless(table_->running()))
    progress_.note(std::string{"the calls of all rows in flight fail and are only repeated; "} +
                   cancelled);
  else
    return;
  abort();
}

/// Whether a job that stops because its rows fail waits only for calls that have failed already and
/// are repeated.
bool batch_run::is_drain_hopeless(const row_table::running_rows& running) const {
  const auto stop = table_->halted();
  if (!stop || stop->cause != stop_cause::failing)
    return false;
  auto now = batch_progress{};
  runner_.complete(now);
  return running.count > 0 && now.calls_repeating >= running.count;
}

/// Whether the job was stopped before its end, so that no further row may start.
bool batch_run::is_stopping() const {
  return stop_.current() != stop_request::none || table_->halted();
}

/// Reports how many rows are in flight when the job stops to start rows, and how long they may
/// take.
void batch_run::announce_drain(monotonic::time_point now) {
  drained_at_ = now;
  is_own_drain_ = stop_.current() == stop_request::none;
  const auto running = table_->running();
  if (running.count == 0)
    return;
  const auto text_of = [](std::chrono::nanoseconds duration) {
    const auto count = std::chrono::duration<double>(duration).count();
    return count > 0 && count < 1 ? fmt::format("{:.0f}ms", count * 1e3) : duration_text(count);
  };
  auto text = std::string{is_own_drain_ ? drain_reason(table_->halted()->cause) : ""};
  text += "draining: " + counted(running.count, "row") + " in flight, the oldest for " +
          text_of(now - running.oldest);
  const auto totals = writer_.totals();
  if (const auto p95 = totals.row_times.percentile(0.95); p95.count() > 0) {
    const auto left = p95 - (now - running.newest);
    text += "; 95 % of the rows take at most " + text_of(p95) + ", so this takes about " +
            text_of(std::max(left, std::chrono::nanoseconds{0}));
  }
  if (const auto& timeout = options_.rules.drain_timeout)
    text += "; rows in flight are cancelled after " + text_of(*timeout);
  progress_.note(text + ". Ctrl-C cancels them now");
}

void batch_run::abort() {
  is_aborting_.store(true);
  table_->cancel_all();
}

/// Reports once that the server has not counted the tokens of rows.
void batch_run::note_unknown_usage() {
  if (is_unknown_usage_noted_ || table_->expenses().unmeasured == 0)
    return;
  is_unknown_usage_noted_ = true;
  progress_.note("the model's server does not report the tokens of its answers (usage), so the "
                 "tokens and the cost of the job are not known");
}

void batch_run::report_when_due() {
  const auto now = monotonic::now();
  if (now < next_report_ && !progress_.is_outdated())
    return;
  note_unknown_usage();
  next_report_ = now + progress_.interval();
  try {
    progress_.update(progress_now());
  } catch (const std::bad_alloc&) { // the next report follows; the rows must not be affected
  }
}

} // namespace superstep::detail

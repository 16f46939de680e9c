// SPDX-License-Identifier: Apache-2.0
// The rows in flight and the queue of finished rows. One mutex protects everything, and two
// condition variables wake the thread that submits rows and the writer thread.
#include "row_table.hpp"

#include "journal.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace superstep::detail {

namespace {

/// Sum of the sizes of the lines that are read ahead. A single line may be larger.
constexpr auto ready_bytes_max = std::uint64_t{4} << 20U;

/// Returns the error that ends a job. If memory is short, its text needs no allocation.
error shortage_of(const row_fault& fault) noexcept {
  try {
    return {errc::shortage, fault.text};
  } catch (const std::bad_alloc&) {
    return {errc::shortage, "out of memory"};
  }
}

} // namespace

row_table::row_table(std::size_t concurrency, std::size_t write_queue_max, std::size_t ready_max,
                     job_identity job)
    : job_{std::move(job)}, concurrency_{concurrency}, write_queue_max_{write_queue_max},
      ready_max_{ready_max} {
  SUPERSTEP_ASSERT(concurrency > 0 && write_queue_max > 0 && ready_max > 0);
}

bool row_table::may_run() const noexcept {
  return running_.size() < concurrency_ && queue_.size() < write_queue_max_ &&
         (!is_on_trial_ || trial_rows_ > 0);
}

bool row_table::needs_ready() const noexcept {
  return starter_ != nullptr && is_filling_ && !has_all_ready_;
}

row_table::room row_table::wait_for_room(time_point until) {
  auto lock = std::unique_lock{mutex_};
  const auto has_ended = [this] { return failure_ || halted_; };
  feeder_.wait_until(
      lock, until, [&] { return has_ended() || may_run() || needs_ready() || !returned_.empty(); });
  auto out = room{};
  out.has_ended = has_ended();
  out.has_chains = starter_ != nullptr;
  out.used = expenses_;
  if (out.has_ended || !returned_.empty())
    return out;
  out.may_start = may_run();
  out.may_read = needs_ready();
  out.has_ready = !ready_.empty();
  // Rows that may start at once do not wait for other rows to be read.
  const auto is_ahead = out.may_read && !out.may_start;
  ahead_max_ = is_ahead ? ready_max_ - ready_.size() : 0;
  ahead_bytes_max_ = is_ahead ? ready_bytes_max - ready_bytes_ : 0;
  return out;
}

void row_table::enable_chains(row_starter& starter) {
  const auto guard = std::lock_guard{mutex_};
  if (returned_.empty())
    starter_ = &starter;
}

void row_table::disable_chains() {
  const auto guard = std::lock_guard{mutex_};
  starter_ = nullptr;
}

/// Returns the first record of `unused_`, filled for a further row.
table_rows::iterator row_table::take_record(row_request&& request, row_origin&& origin) {
  if (unused_.empty())
    unused_.emplace_back();
  const auto row = unused_.begin();
  row->request = std::move(request);
  row->done.origin = std::move(origin);
  return row;
}

bool row_table::read_ahead(row_request&& request, row_origin&& origin) {
  const auto row = take_record(std::move(request), std::move(origin));
  ahead_bytes_ += row->done.origin.size;
  ahead_.splice(ahead_.end(), unused_, row);
  return ahead_.size() < ahead_max_ && ahead_bytes_ < ahead_bytes_max_;
}

bool row_table::publish() {
  const auto guard = std::lock_guard{mutex_};
  ready_.splice(ready_.end(), ahead_);
  ready_bytes_ += std::exchange(ahead_bytes_, 0);
  unused_.splice(unused_.begin(), spare_);
  if (ready_.size() >= ready_max_ || ready_bytes_ >= ready_bytes_max)
    is_filling_ = false;
  return may_run();
}

bool row_table::has_ready() const {
  const auto guard = std::lock_guard{mutex_};
  return !ready_.empty();
}

void row_table::end_ready() {
  const auto guard = std::lock_guard{mutex_};
  has_all_ready_ = true;
}

/// Starts to count the first row of a list as running.
started_row row_table::begin(table_rows& from) {
  SUPERSTEP_ASSERT(running_.size() < concurrency_ && !is_closed_);
  const auto row = from.begin();
  if (starts_.empty()) // the writer may be waiting; later records join this group
    writer_.notify_one();
  append_start(starts_, row->done.origin.key); // the only operation that may throw
  row->begun = std::chrono::steady_clock::now();
  {
    const auto guard = std::lock_guard{row->mutex};
    row->starting = std::this_thread::get_id();
  }
  running_.splice(running_.end(), from, row);
  if (is_on_trial_)
    --trial_rows_;
  return row;
}

/// Takes the first ready row. @pre there is one, and may_run()
started_row row_table::take_first_ready() {
  const auto row = begin(ready_);
  ready_bytes_ -= row->done.origin.size;
  if (ready_.size() <= ready_max_ / 2 && ready_bytes_ <= ready_bytes_max / 2)
    is_filling_ = true;
  return row;
}

std::optional<started_row> row_table::take_ready() {
  const auto guard = std::lock_guard{mutex_};
  if (ready_.empty() || !may_run())
    return std::nullopt;
  return take_first_ready();
}

/// Takes the row that follows a row that has ended. nullopt if there is none, or if the feeding
/// thread must decide.
std::optional<started_row> row_table::take_successor() noexcept {
  if (starter_ == nullptr || ready_.empty() || !may_run() || failure_ || halted_ ||
      !starter_->may_start(expenses_))
    return std::nullopt;
  try {
    return take_first_ready();
  } catch (const std::bad_alloc&) { // the feeding thread starts the row or reports the shortage
    return std::nullopt;
  }
}

started_row row_table::begin(row_request&& request, row_origin&& origin) {
  take_record(std::move(request), std::move(origin));
  const auto guard = std::lock_guard{mutex_};
  const auto row = begin(unused_);
  unused_.splice(unused_.begin(), spare_);
  return row;
}

// The row may have ended before its handle arrives, and its record may be that of another row since
// then: the record names the thread that starts its row. `handle` is swapped, not moved, so that an
// unused handle is destroyed by the caller, after the lock.
void row_table::attach(started_row row, std::unique_ptr<running_row> handle) {
  const auto guard = std::lock_guard{row->mutex};
  if (row->starting != std::this_thread::get_id())
    return;
  std::swap(row->handle, handle);
  row->starting = {};
}

void row_table::enqueue(table_rows& from, table_rows::iterator row) noexcept {
  queue_.splice(queue_.end(), from, row);
  // One wake-up starts a group; a second one ends the group early if the queue fills up.
  if (queue_.size() == 1 || queue_.size() == wake_size())
    writer_.notify_one();
}

void row_table::add_bad_line(row_origin origin, error why, bool is_duplicate) {
  const auto row = take_record({}, std::move(origin));
  row->done.bad_line = std::move(why);
  row->done.is_duplicate = is_duplicate;
  const auto guard = std::lock_guard{mutex_};
  enqueue(unused_, row);
}

// cancel() may end the row on this thread, and finish() takes the lock. So the handles are called
// without the lock.
void row_table::cancel_all() {
  auto handles = std::vector<std::unique_ptr<running_row>>{};
  {
    const auto guard = std::lock_guard{mutex_};
    is_cancelled_ = true;
    for (auto& each : running_) {
      const auto of_row = std::lock_guard{each.mutex};
      if (each.handle)
        handles.push_back(std::move(each.handle));
    }
  }
  for (auto& handle : handles)
    handle->cancel();
}

bool row_table::wait_until_idle(time_point until) {
  auto lock = std::unique_lock{mutex_};
  return feeder_.wait_until(lock, until, [this] { return running_.empty(); });
}

std::size_t row_table::in_flight() const {
  const auto guard = std::lock_guard{mutex_};
  return running_.size();
}

void row_table::close(bool is_stopped) {
  const auto guard = std::lock_guard{mutex_};
  SUPERSTEP_ASSERT(running_.empty());
  is_closed_ = true;
  is_stopped_ = is_stopped;
  writer_.notify_one();
}

std::optional<error> row_table::failure() const {
  const auto guard = std::lock_guard{mutex_};
  return failure_;
}

void row_table::start_trial(std::uint64_t rows_max) {
  const auto guard = std::lock_guard{mutex_};
  is_on_trial_ = rows_max > 0;
  trial_rows_ = rows_max;
}

row_expenses row_table::expenses() const {
  const auto guard = std::lock_guard{mutex_};
  return expenses_;
}

row_table::running_rows row_table::running() const {
  const auto guard = std::lock_guard{mutex_};
  auto out = running_rows{};
  for (const auto& each : running_) {
    out.oldest = out.count == 0 ? each.begun : std::min(out.oldest, each.begun);
    out.newest = out.count == 0 ? each.begun : std::max(out.newest, each.begun);
    ++out.count;
  }
  return out;
}

std::optional<job_stop> row_table::halted() const {
  const auto guard = std::lock_guard{mutex_};
  return halted_;
}

bool row_table::halt(job_stop why) {
  const auto guard = std::lock_guard{mutex_};
  const auto is_first = !halted_;
  if (is_first)
    halted_ = std::move(why);
  feeder_.notify_one();
  return is_first;
}

void row_table::accept() {
  const auto guard = std::lock_guard{mutex_};
  is_on_trial_ = false;
  feeder_.notify_one();
}

void row_table::set_concurrency(std::size_t rows) {
  const auto guard = std::lock_guard{mutex_};
  concurrency_ = rows;
}

row_table::returned_rows row_table::take_returned() {
  auto out = returned_rows{};
  const auto guard = std::lock_guard{mutex_};
  out.rows.reserve(returned_.size());
  for (auto& each : returned_)
    out.rows.push_back(std::exchange(each.done, {}));
  out.finished = finished_;
  unused_.splice(unused_.begin(), returned_);
  return out;
}

void row_table::finish(started_row row, row_outcome&& outcome) noexcept {
  const auto is_usage_unknown = outcome.is_usage_unknown;
  auto& done = row->done;
  finish_row(done, std::move(outcome), std::chrono::steady_clock::now() - row->begun, job_);
  auto is_starting = false;
  {
    const auto guard = std::lock_guard{row->mutex};
    done.handle = std::move(row->handle);
    is_starting = std::exchange(row->starting, {}) == std::this_thread::get_id();
  }
  auto lock = std::unique_lock{mutex_};
  if (!done.fault) {
    ++finished_;
    ++expenses_.rows;
    expenses_.failed += done.status == row_status::error ? 1U : 0U;
    expenses_.cost += done.counts.cost;
    expenses_.tokens += done.counts.total_tokens;
    expenses_.unmeasured += is_usage_unknown ? 1U : 0U;
    enqueue(running_, row);
  } else { // the machine failed, not the row: the row is submitted again
    // Rows that are cancelled run again, also if their checkpoints cannot be written.
    if (done.fault->what == row_fault::kind::broken && !failure_ && !is_cancelled_)
      failure_ = shortage_of(*done.fault);
    returned_.splice(returned_.end(), running_, row);
    starter_ = nullptr;
    trial_rows_ += is_on_trial_ ? 1U : 0U;
  }
  // A row that ends while it is started leaves the next one to the feeding thread, because chains
  // of such rows would nest their starts.
  auto* const starter = starter_;
  const auto next = is_starting ? std::nullopt : take_successor();
  const auto wakes_feeder = !next || needs_ready();
  lock.unlock(); // first, or the feeding thread would wake only to wait for the lock
  if (wakes_feeder)
    feeder_.notify_one();
  if (next)
    starter->start(*next);
}

void row_table::take(work& into, std::optional<time_point> until) {
  for (auto& each : taken_)
    clear_row(each.done);
  into.starts.clear();
  auto lock = std::unique_lock{mutex_};
  spare_.splice(spare_.begin(), taken_);
  // With a deadline, the writer collects rows for a group until the deadline, unless the queue
  // fills up earlier. Without one, it waits for the first row or start record.
  if (until)
    writer_.wait_until(lock, *until, [this] { return is_closed_ || queue_.size() >= wake_size(); });
  else
    writer_.wait(lock, [this] { return is_closed_ || !queue_.empty() || !starts_.empty(); });
  taken_.swap(queue_);
  std::swap(into.starts, starts_);
  into.is_last = is_closed_;
  into.is_stopped = is_stopped_;
  if (taken_.size() >= write_queue_max_) // wait_for_room() was waiting for a shorter queue
    feeder_.notify_one();
}

void row_table::fail(error why) {
  const auto guard = std::lock_guard{mutex_};
  if (!failure_)
    failure_ = std::move(why);
  feeder_.notify_one();
}

} // namespace superstep::detail

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

/// Makes room for `size` entries, so that adding them does not throw.
template <class T>
void keep_room(std::vector<T>& in, std::size_t size) {
  if (in.capacity() < size)
    in.reserve(std::max(size, 2 * in.capacity()));
}

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
  return in_flight_ < concurrency_ && queue_.size() < write_queue_max_ &&
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

bool row_table::add_ready(row_request&& request, row_origin&& origin) {
  const auto guard = std::lock_guard{mutex_};
  const auto size = origin.size;
  ready_.emplace_back(std::move(request), std::move(origin));
  ready_bytes_ += size;
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

/// Takes a slot for the first ready row. @pre there is one, and may_run()
std::optional<row_table::started_row> row_table::take_first_ready() {
  auto& first = ready_.front();
  const auto size = first.origin.size;
  const auto index = take_slot(first.origin); // the last operation that may throw
  auto out = std::optional<started_row>{std::in_place, index, std::move(first.request)};
  ready_.pop_front();
  ready_bytes_ -= size;
  if (ready_.size() <= ready_max_ / 2 && ready_bytes_ <= ready_bytes_max / 2)
    is_filling_ = true;
  return out;
}

std::optional<row_table::started_row> row_table::take_ready() {
  const auto guard = std::lock_guard{mutex_};
  if (ready_.empty() || !may_run())
    return std::nullopt;
  return take_first_ready();
}

/// Takes the row that follows a row that has ended. nullopt if there is none, or if the feeding
/// thread must decide.
std::optional<row_table::started_row> row_table::take_successor() noexcept {
  if (starter_ == nullptr || ready_.empty() || !may_run() || failure_ || halted_ ||
      !starter_->may_start(expenses_))
    return std::nullopt;
  try {
    return take_first_ready();
  } catch (const std::bad_alloc&) { // the feeding thread starts the row or reports the shortage
    return std::nullopt;
  }
}

row_table::slot_index row_table::begin(row_origin origin) {
  const auto guard = std::lock_guard{mutex_};
  return take_slot(origin);
}

row_table::slot_index row_table::take_slot(row_origin& origin) {
  SUPERSTEP_ASSERT(in_flight_ < concurrency_ && !is_closed_);
  if (free_.empty()) {
    free_.push_back(slots_.size());
    slots_.emplace_back();
  }
  // finish() must not throw, because the job would wait forever for the row.
  keep_room(free_, slots_.size());
  keep_room(queue_, queue_.size() + in_flight_ + 1);
  keep_room(returned_, returned_.size() + in_flight_ + 1);
  if (starts_.empty()) // the writer may be waiting; later records join this group
    writer_.notify_one();
  append_start(starts_, origin.key);
  const auto index = free_.back();
  free_.pop_back();
  auto& taken = slots_[index];
  taken.origin = std::move(origin);
  taken.is_running = true;
  taken.starting = std::this_thread::get_id();
  taken.begun = std::chrono::steady_clock::now();
  ++in_flight_;
  if (is_on_trial_)
    --trial_rows_;
  return index;
}

// The row may have ended before its handle arrives, and another thread may have taken its slot
// since then: the slot names the thread that starts its row. `handle` is swapped, not moved, so
// that an unused handle is destroyed by the caller, after the lock.
void row_table::attach(slot_index index, std::unique_ptr<running_row> handle) {
  const auto guard = std::lock_guard{mutex_};
  auto& started = slots_[index];
  if (!started.is_running || started.starting != std::this_thread::get_id())
    return;
  std::swap(started.handle, handle);
  started.starting = {};
}

void row_table::enqueue(finished_row&& row) {
  queue_.push_back(std::move(row));
  // One wake-up starts a group; a second one ends the group early if the queue fills up.
  if (queue_.size() == 1 || queue_.size() == wake_size())
    writer_.notify_one();
}

void row_table::add_bad_line(row_origin origin, error why, bool is_duplicate) {
  auto row = finished_row{};
  row.origin = std::move(origin);
  row.bad_line = std::move(why);
  row.is_duplicate = is_duplicate;
  const auto guard = std::lock_guard{mutex_};
  keep_room(queue_, queue_.size() + in_flight_ + 1);
  enqueue(std::move(row));
}

// cancel() may end the row on this thread, and finish() takes the lock. So the handles are called
// without the lock.
void row_table::cancel_all() {
  auto handles = std::vector<std::unique_ptr<running_row>>{};
  {
    const auto guard = std::lock_guard{mutex_};
    for (auto& each : slots_)
      if (each.is_running && each.handle)
        handles.push_back(std::move(each.handle));
  }
  for (auto& handle : handles)
    handle->cancel();
}

bool row_table::wait_until_idle(time_point until) {
  auto lock = std::unique_lock{mutex_};
  return feeder_.wait_until(lock, until, [this] { return in_flight_ == 0; });
}

std::size_t row_table::in_flight() const {
  const auto guard = std::lock_guard{mutex_};
  return in_flight_;
}

void row_table::close(bool is_stopped) {
  const auto guard = std::lock_guard{mutex_};
  SUPERSTEP_ASSERT(in_flight_ == 0);
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
  for (const auto& each : slots_) {
    if (!each.is_running)
      continue;
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
  keep_room(out.rows, in_flight_); // the table keeps its memory for finish()
  out.rows.swap(returned_);
  out.finished = finished_;
  return out;
}

/// Takes a row out of its slot, which stays occupied, and writes its output line.
finished_row row_table::end_row(slot_index index, row_outcome&& outcome) noexcept {
  const auto now = std::chrono::steady_clock::now();
  auto lock = std::unique_lock{mutex_};
  auto& ended = slots_[index];
  SUPERSTEP_ASSERT(ended.is_running);
  auto origin = std::move(ended.origin);
  const auto wall = now - ended.begun;
  lock.unlock();
  return finish_row(std::move(origin), std::move(outcome), wall, job_);
}

void row_table::finish(slot_index index, row_outcome&& outcome) noexcept {
  const auto is_usage_unknown = outcome.is_usage_unknown;
  auto row = end_row(index, std::move(outcome));
  auto lock = std::unique_lock{mutex_};
  auto& ended = slots_[index];
  ended.is_running = false;
  row.handle = std::move(ended.handle);
  if (!row.fault) {
    ++finished_;
    ++expenses_.rows;
    expenses_.failed += row.status == row_status::error ? 1U : 0U;
    expenses_.cost += row.counts.cost;
    expenses_.tokens += row.counts.total_tokens;
    expenses_.unmeasured += is_usage_unknown ? 1U : 0U;
    enqueue(std::move(row));
  } else { // the machine failed, not the row: the row is submitted again
    if (row.fault->what == row_fault::kind::broken && !failure_)
      failure_ = shortage_of(*row.fault);
    returned_.push_back(std::move(row));
    starter_ = nullptr;
    trial_rows_ += is_on_trial_ ? 1U : 0U;
  }
  free_.push_back(index);
  --in_flight_;
  // A row that ends while it is started leaves the next one to the feeding thread, because chains
  // of such rows would nest their starts.
  auto* const starter = starter_;
  auto next = ended.starting == std::this_thread::get_id() ? std::nullopt : take_successor();
  const auto wakes_feeder = !next || needs_ready();
  lock.unlock(); // first, or the feeding thread would wake only to wait for the lock
  if (wakes_feeder)
    feeder_.notify_one();
  if (next)
    starter->start(next->slot, std::move(next->request));
}

void row_table::take(work& into, std::optional<time_point> until) {
  into.rows.clear();
  into.starts.clear();
  auto lock = std::unique_lock{mutex_};
  // With a deadline, the writer collects rows for a group until the deadline, unless the queue
  // fills up earlier. Without one, it waits for the first row or start record.
  if (until)
    writer_.wait_until(lock, *until, [this] { return is_closed_ || queue_.size() >= wake_size(); });
  else
    writer_.wait(lock, [this] { return is_closed_ || !queue_.empty() || !starts_.empty(); });
  keep_room(into.rows, in_flight_); // the table keeps its memory for finish()
  std::swap(into.rows, queue_);
  std::swap(into.starts, starts_);
  into.is_last = is_closed_;
  into.is_stopped = is_stopped_;
  if (into.rows.size() >= write_queue_max_) // wait_for_room() was waiting for a shorter queue
    feeder_.notify_one();
}

void row_table::fail(error why) {
  const auto guard = std::lock_guard{mutex_};
  if (!failure_)
    failure_ = std::move(why);
  feeder_.notify_one();
}

} // namespace superstep::detail

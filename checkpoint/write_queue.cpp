// SPDX-License-Identifier: Apache-2.0
// The writer thread takes everything that is queued and has it written in one transaction, so that
// all runs of the process share one disk sync. The sinks are in sqlite_sink.cpp and
// postgres_sink.cpp.
#include "write_queue.hpp"

#include "base/file_size_signal.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <utility>

namespace superstep::detail {

std::size_t pending_write::bytes() const noexcept {
  auto sum = sizeof(pending_write) + row.size();
  for (const auto& t : tasks)
    sum += t.size();
  if (effect && effect->record)
    sum += effect->record->result.size();
  return sum;
}

/// Marks writes as done. If they failed, marks their threads as failed.
void row_sink::record_outcome(std::span<pending_write> batch, const std::optional<error>& failed) {
  const auto lock = std::scoped_lock{*states_};
  for (auto& j : batch) {
    auto& thread = *j.thread;
    thread.saved = std::max(thread.saved, j.number);
    if (failed && !thread.failed)
      thread.failed = failed;
    if (!thread.failed && j.is_checkpoint)
      j.head->written = j.header.id;
  }
}

void row_sink::fail(thread_state& thread, error why) {
  const auto lock = std::scoped_lock{*states_};
  if (!thread.failed)
    thread.failed = std::move(why);
}

std::string complete_row(const pending_write& j) {
  auto text = j.row; // a copy, because the write may be repeated after a failure
  if (j.tasks.empty())
    return text;
  text.pop_back(); // add the records as member `r`, before the closing brace
  text += text.size() > 1 ? ",\"r\":[" : "\"r\":[";
  for (auto i = std::size_t{0}; i < j.tasks.size(); ++i)
    text += (i == 0 ? "" : ",") + j.tasks[i];
  text += "]}";
  return text;
}

error written_by_another_run(const std::string& thread_id, const std::string& found,
                             const std::string& expected) {
  return {checkpoint_errc::conflict,
          "thread '" + thread_id + "' was written by another run: its newest checkpoint is " +
              (found.empty() ? "deleted" : found) + ", expected " +
              (expected.empty() ? "none" : expected) +
              "; nothing was overwritten: run again to resume from there"};
}

error base_was_deleted(const std::string& thread_id, const std::string& base) {
  return {checkpoint_errc::conflict,
          "thread '" + thread_id + "': checkpoint " + base +
              " was deleted while a run resumed from it; nothing was overwritten: run "
              "again from an existing checkpoint"};
}

write_queue::write_queue(std::unique_ptr<row_sink> sink, const row_checkpointer_options& options)
    : options_{options}, sink_{std::move(sink)} {
  sink_->set_mutex(mutex_);
}

std::shared_ptr<write_queue> write_queue::start(std::unique_ptr<row_sink> sink,
                                                const row_checkpointer_options& options) {
  auto made = std::make_shared<write_queue>(std::move(sink), options);
  try {
    made->thread_ = std::thread{[made] {
      const auto is_an_error = file_size_signal_blocked{};
      made->work();
    }};
  } catch (const std::system_error& e) {
    throw checkpoint_error{e.code(),
                           "checkpoints in '" + made->sink_->name() +
                               "': cannot start the writer thread (check the process limit, "
                               "ulimit -u): " +
                               e.what()};
  }
  return made;
}

void write_queue::stop() {
  {
    const auto lock = std::scoped_lock{mutex_};
    is_stopping_ = true;
  }
  work_.notify_all();
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach(); // a thread cannot join itself; the lambda in start() owns this object
  else
    thread_.join();
}

std::shared_ptr<const std::string> write_queue::layout_text(const layout_ptr& layout) {
  constexpr auto texts_max = std::size_t{64}; // a program usually has few graphs
  if (const auto known = texts_.find(layout); known != texts_.end())
    return known->second;
  if (texts_.size() >= texts_max)
    texts_.clear();
  return texts_.emplace(layout, std::make_shared<const std::string>(write_layout(*layout)))
      .first->second;
}

void write_queue::enqueue(pending_write&& j) {
  SUPERSTEP_ASSERT(j.thread != nullptr && j.head != nullptr);
  j.number = ++j.thread->enqueued;
  queued_bytes_ += j.bytes();
  queue_.push_back(std::move(j));
  work_.notify_one();
}

void write_queue::write_or_enqueue(std::unique_lock<std::mutex>& lock, pending_write&& j) {
  if (is_writing_ || is_worker_blocked_ || is_stopping_ || !queue_.empty() ||
      !maintenance_.empty() || !j.thread->on_saved.empty()) {
    enqueue(std::move(j));
    return;
  }
  j.number = ++j.thread->enqueued;
  is_writing_ = true;
  lock.unlock();
  const auto one = std::span{&j, 1};
  const auto is_over = sink_->try_write_now(one);
  lock.lock();
  auto done = is_over ? take_callbacks(one) : std::vector<std::function<void()>>{};
  if (!is_over) { // enqueue it at the front: later writes of the thread depend on it
    queued_bytes_ += j.bytes();
    queue_.push_front(std::move(j));
    work_.notify_one();
  }
  release_database();
  if (done.empty())
    return;
  lock.unlock();
  for (const auto& f : done)
    f();
  done.clear(); // without the lock: destroying a callback may destroy the checkpointer
  lock.lock();
}

/// Ends a write. Wakes the writer thread, and callers that wait for writes. @pre the lock is held
void write_queue::release_database() {
  is_writing_ = false;
  if (is_worker_blocked_)
    work_.notify_one();
  written_.notify_all();
}

void write_queue::schedule_flush(const thread_state_ptr& thread, const namespace_head_ptr& head) {
  head->tasks_due = clock::now() + options_.task_flush_delay;
  scheduled_flushes_.push_back({head->tasks_due, thread, head});
  if (!std::exchange(looks_at_flushes_, true))
    work_.notify_one();
}

namespace {

/// Returns a queue entry that writes the task records of a namespace to rows of their own; nullopt
/// if there are no such records. The next checkpoint then no longer includes them.
std::optional<pending_write> write_of_tasks(write_queue& to, const thread_state_ptr& thread,
                                            const namespace_head_ptr& head) {
  if (head->tasks.empty())
    return std::nullopt;
  auto j = pending_write{};
  j.layout = to.layout_text(head->newest.saved.checkpoint->layout);
  j.thread = thread;
  j.head = head;
  j.header.id = head->newest.saved.checkpoint->id;
  j.tasks = std::exchange(head->tasks, {});
  return j;
}

} // namespace

void write_queue::flush(const thread_state_ptr& thread) {
  for (auto& [ns, head] : thread->namespaces)
    if (auto j = write_of_tasks(*this, thread, head))
      enqueue(std::move(*j));
}

/// Enqueues the scheduled flushes that are due. Most of them are obsolete and only removed, because
/// the next checkpoint has included their records. Returns whether there were any.
bool write_queue::enqueue_due_flushes(clock::time_point now) {
  const auto had_flushes = !scheduled_flushes_.empty();
  const auto is_over = [](const scheduled_flush& l) {
    return l.head->tasks.empty() || l.head->tasks_due != l.due;
  };
  while (!scheduled_flushes_.empty()) {
    auto& l = scheduled_flushes_.front();
    if (!is_over(l)) {
      if (l.due > now && !is_stopping_)
        break;
      enqueue(std::move(*write_of_tasks(*this, l.thread, l.head)));
    }
    scheduled_flushes_.pop_front();
  }
  return had_flushes;
}

void write_queue::wait_for_room(std::unique_lock<std::mutex>& lock) {
  written_.wait(lock, [&] { return queued_bytes_ < options_.queue_bytes_max; });
}

void write_queue::wait_for(std::unique_lock<std::mutex>& lock, const thread_state_ptr& thread) {
  flush(thread);
  written_.wait(lock, [&, until = thread->enqueued] { return thread->saved >= until; });
}

void write_queue::run_at(clock::time_point when, std::function<void(bool)> what) {
  {
    const auto lock = std::scoped_lock{mutex_};
    if (!is_stopping_) {
      timers_.emplace(when, std::move(what));
      work_.notify_one();
      return;
    }
  }
  what(true);
}

/// Runs the timers that are due, for a few milliseconds: there may be thousands of them, and writes
/// wait meanwhile. Releases the lock while a timer runs. Returns whether a timer ran.
bool write_queue::run_due_timers(std::unique_lock<std::mutex>& lock) {
  constexpr auto time_max = std::chrono::milliseconds{5};
  const auto end = clock::now() + time_max;
  auto has_run = false;
  for (auto now = clock::now(); now < end || !has_run; now = clock::now()) {
    if (timers_.empty() || (timers_.begin()->first > now && !is_stopping_))
      break;
    auto due = timers_.extract(timers_.begin());
    const auto is_stopping = is_stopping_;
    lock.unlock();
    due.mapped()(is_stopping);
    due.mapped() = nullptr; // destroy the function without the lock
    lock.lock();
    has_run = true;
  }
  return has_run;
}

void write_queue::run(const std::function<void(database&)>& what) {
  auto lock = std::unique_lock{mutex_};
  auto e = maintenance_task{&what, {}, false};
  maintenance_.push_back(&e);
  work_.notify_one();
  written_.wait(lock, [&] { return e.is_done; });
  if (e.failed)
    std::rethrow_exception(e.failed);
}

/// Waits until there is a queued write, a maintenance task, or a timer that is due. Returns false
/// if the thread must end. The thread ends only when everything has been written.
bool write_queue::wait_for_work(std::unique_lock<std::mutex>& lock) {
  while (true) {
    const auto now = clock::now();
    looks_at_flushes_ = enqueue_due_flushes(now);
    const auto is_due = !timers_.empty() && (is_stopping_ || timers_.begin()->first <= now);
    const auto has_work = !queue_.empty() || !maintenance_.empty() || is_due;
    // Another thread may use the database; see write_or_enqueue(). It is not delayed if there is
    // nothing else to write: a scheduled flush is usually obsolete when it is due.
    is_worker_blocked_ = is_writing_ && (has_work || is_stopping_);
    if (is_worker_blocked_) {
      work_.wait(lock);
      continue;
    }
    if (has_work || is_stopping_)
      return has_work;
    auto until = clock::time_point::max();
    // A run of short super-steps schedules a flush in each of them. The thread looks again after
    // the delay, so that they need not wake it.
    if (looks_at_flushes_)
      until = scheduled_flushes_.empty() ? now + options_.task_flush_delay
                                         : scheduled_flushes_.front().due;
    if (!timers_.empty())
      until = std::min(until, timers_.begin()->first);
    if (until == clock::time_point::max())
      work_.wait(lock);
    else
      work_.wait_until(lock, until);
  }
}

std::vector<pending_write> write_queue::take_batch() {
  auto batch = std::vector<pending_write>{};
  while (!queue_.empty() && batch.size() < options_.batch_rows_max) {
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return batch;
}

void write_queue::work() {
  auto lock = std::unique_lock{mutex_};
  auto has_run_timers = false; // then it is the turn of writes and maintenance tasks
  while (wait_for_work(lock)) {
    has_run_timers = !has_run_timers && run_due_timers(lock);
    if (has_run_timers)
      continue;
    if (queue_.empty()) { // queued writes come before maintenance tasks
      if (!maintenance_.empty())
        run_maintenance();
      continue;
    }
    auto batch = take_batch();
    auto bytes = std::size_t{0};
    for (const auto& j : batch)
      bytes += j.bytes();
    is_writing_ = true;
    lock.unlock();
    sink_->write(batch);
    lock.lock();
    queued_bytes_ -= bytes;
    auto done = take_callbacks(batch);
    release_database();
    lock.unlock();
    for (const auto& f : done)
      f();
    // Without the lock, because destroying them may destroy the checkpointer.
    done.clear();
    batch.clear();
    lock.lock();
  }
}

/// Removes and returns the callbacks whose writes have been saved. The caller calls them without
/// the lock. @pre the lock is held
std::vector<std::function<void()>> write_queue::take_callbacks(std::span<pending_write> batch) {
  auto done = std::vector<std::function<void()>>{};
  for (const auto& j : batch) {
    auto& waiting = j.thread->on_saved;
    const auto later = std::stable_partition(
        waiting.begin(), waiting.end(), [&](const auto& w) { return w.first > j.thread->saved; });
    for (auto w = later; w != waiting.end(); ++w)
      done.push_back(std::move(w->second));
    waiting.erase(later, waiting.end());
  }
  return done;
}

/// Runs one maintenance task in a transaction. The lock is held, except while the task runs.
void write_queue::run_maintenance() {
  auto& e = *maintenance_.front();
  maintenance_.pop_front();
  is_writing_ = true;
  mutex_.unlock();
  try {
    sink_->run(*e.what);
  } catch (const std::exception&) {
    e.failed = std::current_exception();
  }
  mutex_.lock();
  e.is_done = true;
  release_database();
}

} // namespace superstep::detail

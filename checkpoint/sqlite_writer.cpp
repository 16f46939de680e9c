// SPDX-License-Identifier: Apache-2.0
// Writes the queue of an sqlite_file_checkpointer. The writer thread takes everything that is
// queued and commits it in one transaction, so that all runs of the process share one disk sync.
// Before a checkpoint is written, check_heads() compares the newest checkpoint in the database with
// the one that the run expects. A difference means that another process has written to the thread.
#include "sqlite_writer.hpp"

#include "base/file_size_signal.hpp"
#include "lease_queue.hpp"
#include "row_bytes.hpp"
#include "sqlite_maintenance.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <set>
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

namespace {

database open_claimed(const std::string& path, const sqlite_checkpointer_options& options) {
  auto db = open_for_writing(path, options.busy_timeout, options.survives_power_loss,
                             options.encryption_key);
  if (options.owner)
    claim(db, *options.owner);
  return db;
}

} // namespace

sqlite_writer::sqlite_writer(const std::string& path, const sqlite_checkpointer_options& options)
    : options_{options}, db_{open_claimed(path, options)},
      find_thread_{db_.prepare("SELECT no FROM threads WHERE thread = ?1 AND ns = ?2")},
      add_thread_{db_.prepare("INSERT INTO threads (thread, ns, created) VALUES (?1, ?2, ?3)")},
      find_layout_{db_.prepare(find_layout_sql)}, layout_{db_.prepare(layout_sql)},
      add_layout_{db_.prepare("INSERT INTO layouts (text) VALUES (?1)")},
      add_checkpoint_{
          db_.prepare("INSERT INTO points (thread, id, parent, base, step, source, layout, "
                      "chain, whole, made, sum, row) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, "
                      "?8, ?9, ?10, ?11, ?12)")},
      has_checkpoint_{db_.prepare("SELECT 1 FROM points WHERE thread = ?1 AND id = ?2")},
      add_task_{db_.prepare(add_task_sql)},
      begin_effect_{
          db_.prepare("INSERT OR IGNORE INTO effects (thread, key, ended, sum, row) VALUES "
                      "(?1, ?2, 0, ?3, ?4)")},
      end_effect_{
          db_.prepare("INSERT OR REPLACE INTO effects (thread, key, ended, sum, row) VALUES "
                      "(?1, ?2, 1, ?3, ?4)")},
      forget_effect_{db_.prepare("DELETE FROM effects WHERE thread = ?1 AND key = ?2")},
      forget_effects_{db_.prepare("DELETE FROM effects WHERE thread = ?1")},
      find_head_{db_.prepare("SELECT id FROM points WHERE thread = ?1 ORDER BY id DESC LIMIT 1")},
      begin_{db_.prepare("BEGIN IMMEDIATE")}, commit_{db_.prepare("COMMIT")},
      version_{db_.prepare("PRAGMA data_version")} {}

std::shared_ptr<sqlite_writer> sqlite_writer::start(const std::string& path,
                                                    const sqlite_checkpointer_options& options) {
  auto made = std::make_shared<sqlite_writer>(path, options);
  try {
    made->thread_ = std::thread{[made] {
      const auto is_an_error = file_size_signal_blocked{};
      made->work();
    }};
  } catch (const std::system_error& e) {
    throw checkpoint_error{e.code(),
                           "checkpoints in '" + path +
                               "': cannot start the writer thread (check the process limit, "
                               "ulimit -u): " +
                               e.what()};
  }
  return made;
}

void sqlite_writer::stop() {
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

std::shared_ptr<const std::string> sqlite_writer::layout_text(const layout_ptr& layout) {
  constexpr auto texts_max = std::size_t{64}; // a program usually has few graphs
  if (const auto known = texts_.find(layout); known != texts_.end())
    return known->second;
  if (texts_.size() >= texts_max)
    texts_.clear();
  return texts_.emplace(layout, std::make_shared<const std::string>(write_layout(*layout)))
      .first->second;
}

void sqlite_writer::enqueue(pending_write&& j) {
  SUPERSTEP_ASSERT(j.thread != nullptr && j.head != nullptr);
  j.number = ++j.thread->enqueued;
  queued_bytes_ += j.bytes();
  queue_.push_back(std::move(j));
  work_.notify_one();
}

void sqlite_writer::write_or_enqueue(std::unique_lock<std::mutex>& lock, pending_write&& j) {
  if (is_writing_ || is_worker_blocked_ || is_stopping_ || !queue_.empty() ||
      !maintenance_.empty() || !j.thread->on_saved.empty()) {
    enqueue(std::move(j));
    return;
  }
  j.number = ++j.thread->enqueued;
  is_writing_ = true;
  lock.unlock();
  const auto one = std::span{&j, 1};
  const auto is_over = try_write_now(one);
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
void sqlite_writer::release_database() {
  is_writing_ = false;
  if (is_worker_blocked_)
    work_.notify_one();
  written_.notify_all();
}

void sqlite_writer::schedule_flush(const thread_state_ptr& thread, const namespace_head_ptr& head) {
  head->tasks_due = clock::now() + options_.task_flush_delay;
  scheduled_flushes_.push_back({head->tasks_due, thread, head});
  if (scheduled_flushes_.size() == 1)
    work_.notify_one();
}

namespace {

/// Returns a queue entry that writes the task records of a namespace to rows of their own; nullopt
/// if there are no such records. The next checkpoint then no longer includes them.
std::optional<pending_write> write_of_tasks(sqlite_writer& to, const thread_state_ptr& thread,
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

void sqlite_writer::flush(const thread_state_ptr& thread) {
  for (auto& [ns, head] : thread->namespaces)
    if (auto j = write_of_tasks(*this, thread, head))
      enqueue(std::move(*j));
}

/// Enqueues the scheduled flushes that are due. Most of them are obsolete and only removed, because
/// the next checkpoint has included their records.
void sqlite_writer::enqueue_due_flushes(clock::time_point now) {
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
}

void sqlite_writer::wait_for_room(std::unique_lock<std::mutex>& lock) {
  written_.wait(lock, [&] { return queued_bytes_ < options_.queue_bytes_max; });
}

void sqlite_writer::wait_for(std::unique_lock<std::mutex>& lock, const thread_state_ptr& thread) {
  flush(thread);
  written_.wait(lock, [&, until = thread->enqueued] { return thread->saved >= until; });
}

void sqlite_writer::run_at(clock::time_point when, std::function<void(bool)> what) {
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

/// Runs one timer if a timer is due. Releases the lock while it runs. Returns whether a timer ran.
bool sqlite_writer::run_due_timer(std::unique_lock<std::mutex>& lock) {
  if (timers_.empty() || (timers_.begin()->first > clock::now() && !is_stopping_))
    return false;
  auto due = timers_.extract(timers_.begin());
  const auto is_stopping = is_stopping_;
  lock.unlock();
  due.mapped()(is_stopping);
  due.mapped() = nullptr; // destroy the function without the lock
  lock.lock();
  return true;
}

void sqlite_writer::run(const std::function<void(database&)>& what) {
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
bool sqlite_writer::wait_for_work(std::unique_lock<std::mutex>& lock) {
  while (true) {
    is_worker_blocked_ = is_writing_;
    if (is_writing_) { // another thread uses the database; see write_or_enqueue()
      work_.wait(lock);
      continue;
    }
    enqueue_due_flushes(clock::now());
    if (!queue_.empty() || !maintenance_.empty())
      return true;
    if (!timers_.empty() && (is_stopping_ || timers_.begin()->first <= clock::now()))
      return true;
    if (is_stopping_)
      return false;
    auto until = clock::time_point::max();
    if (!scheduled_flushes_.empty())
      until = scheduled_flushes_.front().due;
    if (!timers_.empty())
      until = std::min(until, timers_.begin()->first);
    if (until == clock::time_point::max())
      work_.wait(lock);
    else
      work_.wait_until(lock, until);
  }
}

std::vector<pending_write> sqlite_writer::take_batch() {
  auto batch = std::vector<pending_write>{};
  while (!queue_.empty() && batch.size() < options_.batch_rows_max) {
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return batch;
}

void sqlite_writer::work() {
  auto lock = std::unique_lock{mutex_};
  while (wait_for_work(lock)) {
    if (run_due_timer(lock))
      continue;
    if (queue_.empty()) { // queued writes come before maintenance tasks
      run_maintenance();
      continue;
    }
    auto batch = take_batch();
    auto bytes = std::size_t{0};
    for (const auto& j : batch)
      bytes += j.bytes();
    is_writing_ = true;
    lock.unlock();
    write(batch);
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
std::vector<std::function<void()>> sqlite_writer::take_callbacks(std::span<pending_write> batch) {
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

/// Clears cached row numbers after a rollback or a maintenance task: the rows may no longer exist.
void sqlite_writer::invalidate_numbers() {
  layouts_.clear();
  last_data_version_ = -1;
}

/// Writes a batch in one transaction. If the transaction fails, each entry is written separately,
/// so that the failure of one thread does not affect the others. That is not done if the file was
/// locked for the whole busy timeout, because each entry would wait again.
void sqlite_writer::write(std::span<pending_write> batch) {
  const auto started = clock::now();
  auto failed = try_to_write(batch);
  if (!failed || batch.size() == 1 || clock::now() - started >= options_.busy_timeout) {
    record_outcome(batch, failed);
    return;
  }
  for (auto i = std::size_t{0}; i < batch.size(); ++i)
    record_outcome(batch.subspan(i, 1), try_to_write(batch.subspan(i, 1)));
}

/// Writes on the thread of a caller, without waiting for the file. Returns false without writing if
/// another process has locked the file; the caller then leaves the write to the writer thread.
bool sqlite_writer::try_write_now(std::span<pending_write> batch) noexcept {
  const auto is_an_error = file_size_signal_blocked{};
  try {
    if (!db_.try_run(begin_))
      return false;
  } catch (const checkpoint_error&) { // try_to_write() fails with the same error and reports it
  }
  record_outcome(batch, try_to_write(batch));
  return true;
}

/// Writes a batch in one transaction, which may already be open. If that fails, rolls the
/// transaction back and returns the error.
std::optional<error> sqlite_writer::try_to_write(std::span<pending_write> batch) {
  try {
    if (!db_.is_in_transaction())
      begin_.run();
    write_batch(batch);
    return std::nullopt;
  } catch (const checkpoint_error& e) {
    db_.roll_back();
    invalidate_numbers();
    for (auto& j : batch)
      j.head->thread_no = 0;
    return error{e.code(), e.what()};
  }
}

/// Marks writes as done. If they failed, marks their threads as failed.
void sqlite_writer::record_outcome(std::span<pending_write> batch,
                                   const std::optional<error>& failed) {
  const auto lock = std::scoped_lock{mutex_};
  for (auto& j : batch) {
    auto& thread = *j.thread;
    thread.saved = std::max(thread.saved, j.number);
    if (failed && !thread.failed)
      thread.failed = failed;
    if (!thread.failed && j.is_checkpoint)
      j.head->written = j.header.id;
  }
}

void sqlite_writer::write_batch(std::span<pending_write> batch) {
  check_heads(batch);
  auto rows = std::uint64_t{0};
  for (auto& j : batch) {
    if (j.thread->failed) // this write depends on one that was not saved
      continue;
    insert(j);
    ++rows;
  }
  commit_.run();
  ++transactions_;
  rows_ += rows;
  last_data_version_ = data_version_;
}

/// Compares, for each thread in the batch, the newest checkpoint in the database with the one that
/// the thread's first write expects. If they differ, marks the thread as failed, so that its writes
/// are skipped. The transaction is open: no other process can write before this batch.
void sqlite_writer::check_heads(std::span<pending_write> batch) {
  {
    // SQLite changes `data_version` when another connection commits, but not for our own commits.
    auto s = statement_use{version_};
    data_version_ = s->step() ? s->number(0) : -1;
  }
  if (data_version_ != last_data_version_)
    ++epoch_; // another connection has written: cached ids of newest checkpoints may be outdated
  auto seen = std::set<const namespace_head*>{};
  for (auto& j : batch) {
    if (!j.is_checkpoint && !j.effect && j.head->epoch != epoch_)
      (void)thread_no(*j.head);
    if (!j.is_checkpoint || !seen.insert(j.head.get()).second)
      continue;
    const auto is_known = std::exchange(j.head->epoch, epoch_) == epoch_ && j.head->thread_no != 0;
    if (is_known && j.head->written == j.before)
      continue;
    const auto found = thread_no(*j.head);
    const auto head = found == 0 ? std::string{} : head_of(found);
    const auto lock = std::scoped_lock{mutex_};
    if (head != j.before && !j.thread->failed)
      j.thread->failed = error{checkpoint_errc::conflict,
                               "thread '" + j.thread->thread_id +
                                   "' was written by another run: its newest checkpoint is " +
                                   (head.empty() ? "deleted" : head) + ", expected " +
                                   (j.before.empty() ? "none" : j.before) +
                                   "; nothing was overwritten: run again to resume from there"};
  }
}

std::string sqlite_writer::head_of(std::int64_t no) {
  auto s = statement_use{find_head_};
  s->bind(1, no);
  return s->step() ? std::string{s->text(0)} : std::string{};
}

/// Looks up the row number of a namespace in table `threads`; 0 if there is none.
std::int64_t sqlite_writer::thread_no(namespace_head& head) {
  auto s = statement_use{find_thread_};
  s->bind_text(1, head.key.thread_id);
  s->bind_text(2, head.key.ns);
  head.thread_no = s->step() ? s->number(0) : 0;
  return head.thread_no;
}

std::int64_t sqlite_writer::layout_no(const std::shared_ptr<const std::string>& text) {
  if (const auto known = layouts_.find(*text); known != layouts_.end())
    return known->second;
  auto no = std::int64_t{0};
  {
    auto s = statement_use{find_layout_};
    s->bind_text(1, *text);
    no = s->step() ? s->number(0) : 0;
  }
  if (no == 0) {
    add_layout_.bind_text(1, *text);
    add_layout_.run();
    no = db_.last_row();
  } else { // compare the index with the table: a row with a damaged layout could not be read
    auto s = statement_use{layout_};
    s->bind(1, no);
    if (!s->step() || s->text(0) != *text)
      throw layout_damaged(db_);
  }
  layouts_.emplace(*text, no);
  return no;
}

void sqlite_writer::insert(const pending_write& j) {
  if (j.effect) {
    insert_effect(j);
    return;
  }
  if (!j.is_checkpoint) {
    insert_tasks(j);
    return;
  }
  if (j.head->thread_no == 0 && thread_no(*j.head) == 0) {
    add_thread_.bind_text(1, j.head->key.thread_id);
    add_thread_.bind_text(2, j.head->key.ns);
    add_thread_.bind(3, now_in_seconds());
    add_thread_.run();
    j.head->thread_no = db_.last_row();
  }
  insert_checkpoint(j);
}

/// Checks that the base of a branch's first delta still exists: an older checkpoint may have been
/// pruned since it was loaded.
void sqlite_writer::check_base(const pending_write& j) {
  if (j.base.empty() || j.base == j.before)
    return;
  auto s = statement_use{has_checkpoint_};
  s->bind(1, j.head->thread_no);
  s->bind_text(2, j.base);
  if (!s->step())
    throw checkpoint_error{
        make_error_code(checkpoint_errc::conflict),
        "thread '" + j.thread->thread_id + "': checkpoint " + j.base +
            " was deleted while a run resumed from it; nothing was overwritten: run "
            "again from an existing checkpoint"};
}

void sqlite_writer::insert_checkpoint(const pending_write& j) {
  check_base(j);
  auto text = j.row;      // a copy, because the write may be repeated after a rollback
  if (!j.tasks.empty()) { // add the records as member `r`, before the closing brace
    text.pop_back();
    text += text.size() > 1 ? ",\"r\":[" : "\"r\":[";
    for (auto i = std::size_t{0}; i < j.tasks.size(); ++i)
      text += (i == 0 ? "" : ",") + j.tasks[i];
    text += "]}";
  }
  const auto row = db_.to_row(std::move(text), checkpoint_place(j.head->key, j.header.id));
  const auto sum =
      checksum_of({j.header.id, j.header.parent, j.base, std::to_string(j.header.step), row});
  auto s = statement_use{add_checkpoint_};
  s->bind(1, j.head->thread_no);
  s->bind_text(2, j.header.id);
  if (!j.base.empty() && j.base == j.header.parent) // the usual case: store the id only once
    s->bind_null(3);
  else
    s->bind_text(3, j.header.parent);
  if (j.base.empty())
    s->bind_null(4);
  else
    s->bind_text(4, j.base);
  s->bind(5, j.header.step);
  s->bind(6, static_cast<std::int64_t>(j.header.source));
  s->bind(7, layout_no(j.layout));
  s->bind(8, j.chain);
  s->bind(9, j.whole);
  s->bind(10, now_in_seconds());
  s->bind(11, sum);
  s->bind_bytes(12, row);
  (void)s->step();
  if (j.ends_effects) {
    forget_effects_.bind_text(1, j.thread->thread_id);
    forget_effects_.run();
  }
}

void sqlite_writer::insert_tasks(const pending_write& j) {
  for (const auto& task : j.tasks)
    add_task(db_, add_task_, {j.head->thread_no, j.head->key, j.header.id, layout_no(j.layout)},
             task);
}

/// Writes or erases an effect record. Only one run can record the start of an effect. If the row
/// exists already, the thread of this write fails with checkpoint_errc::conflict.
void sqlite_writer::insert_effect(const pending_write& j) {
  const auto& [key, record] = *j.effect;
  auto s = statement_use{!record             ? forget_effect_
                         : record->has_ended ? end_effect_
                                             : begin_effect_};
  s->bind_text(1, j.thread->thread_id);
  s->bind_text(2, key);
  const auto row =
      record ? db_.to_row(record->result, effect_place(j.thread->thread_id, key)) : std::string{};
  if (record) {
    s->bind(3, checksum_of({j.thread->thread_id, key, row}));
    s->bind_bytes(4, row);
  }
  (void)s->step();
  if (record && !record->has_ended && db_.changes() == 0) {
    const auto e = effect_already_started(j.thread->thread_id);
    const auto lock = std::scoped_lock{mutex_};
    j.thread->failed = error{e.code(), e.what()};
  }
}

/// Runs one maintenance task in a transaction. The lock is held, except while the task runs.
void sqlite_writer::run_maintenance() {
  auto& e = *maintenance_.front();
  maintenance_.pop_front();
  is_writing_ = true;
  mutex_.unlock();
  try {
    db_.in_transaction("BEGIN IMMEDIATE", [&] { (*e.what)(db_); });
    ++transactions_;
  } catch (const std::exception&) {
    e.failed = std::current_exception();
  }
  mutex_.lock();
  invalidate_numbers();
  e.is_done = true;
  release_database();
}

} // namespace superstep::detail

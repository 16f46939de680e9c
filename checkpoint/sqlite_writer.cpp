// SPDX-License-Identifier: Apache-2.0
#include "sqlite_writer.hpp"

#include "row_bytes.hpp"
#include "sqlite_upkeep.hpp"
#include "thread_desk.hpp"

#include <superstep/base/assert.hpp>
#include <superstep/base/file_size_signal.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace superstep::detail {

std::size_t job::bytes() const noexcept {
  auto sum = sizeof(job) + row.size();
  for (const auto& t : tasks)
    sum += t.size();
  if (effect && effect->note)
    sum += effect->note->result.size();
  return sum;
}

namespace {

database open_claimed(const std::string& path, const sqlite_saver_options& options) {
  auto db = open_for_writing(path, options.busy_timeout, options.survives_power_loss,
                             options.encryption_key);
  if (options.owner)
    claim(db, *options.owner);
  return db;
}

} // namespace

sqlite_writer::sqlite_writer(const std::string& path, const sqlite_saver_options& options)
    : options_{options}, db_{open_claimed(path, options)},
      find_thread_{db_.prepare("SELECT no FROM threads WHERE thread = ?1 AND ns = ?2")},
      add_thread_{db_.prepare("INSERT INTO threads (thread, ns, created) VALUES (?1, ?2, ?3)")},
      find_layout_{db_.prepare(find_layout_sql)}, layout_{db_.prepare(layout_sql)},
      add_layout_{db_.prepare("INSERT INTO layouts (text) VALUES (?1)")},
      add_point_{db_.prepare("INSERT INTO points (thread, id, parent, base, step, source, layout, "
                             "chain, whole, made, sum, row) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, "
                             "?8, ?9, ?10, ?11, ?12)")},
      has_point_{db_.prepare("SELECT 1 FROM points WHERE thread = ?1 AND id = ?2")},
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
                                                    const sqlite_saver_options& options) {
  auto made = std::make_shared<sqlite_writer>(path, options);
  try {
    made->thread_ = std::thread{[made] {
      const auto is_an_error = file_size_signal_blocked{};
      made->work();
    }};
  } catch (const std::system_error& e) {
    throw saver_error{e.code(), "'" + path + "': the thread that writes to it cannot be started "
                                "(see the limit of processes, ulimit -u): " + e.what()};
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
    thread_.detach(); // joining itself it would wait for ever; it holds all that it needs
  else
    thread_.join();
}

std::shared_ptr<const std::string> sqlite_writer::text_of(const layout_ptr& layout) {
  constexpr auto texts_max = std::size_t{64};
  if (const auto known = texts_.find(layout); known != texts_.end())
    return known->second;
  if (texts_.size() >= texts_max)
    texts_.clear();
  return texts_.emplace(layout, std::make_shared<const std::string>(write_layout(*layout)))
      .first->second;
}

void sqlite_writer::give(job&& j) {
  SUPERSTEP_ASSERT(j.of != nullptr && j.at != nullptr);
  j.number = ++j.of->given;
  queued_bytes_ += j.bytes();
  queue_.push_back(std::move(j));
  work_.notify_one();
}

void sqlite_writer::give_now(std::unique_lock<std::mutex>& lock, job&& j) {
  if (is_writing_ || is_kept_waiting_ || is_stopping_ || !queue_.empty() || !errands_.empty() ||
      !j.of->waiting.empty()) {
    give(std::move(j));
    return;
  }
  j.number = ++j.of->given;
  is_writing_ = true;
  lock.unlock();
  const auto one = std::span{&j, 1};
  const auto is_over = write_at_once(one);
  lock.lock();
  auto done = is_over ? take_waiting(one) : std::vector<std::function<void()>>{};
  if (!is_over) { // what was given for the thread meanwhile comes after it
    queued_bytes_ += j.bytes();
    queue_.push_front(std::move(j));
    work_.notify_one();
  }
  end_turn();
  if (done.empty())
    return;
  lock.unlock();
  for (const auto& f : done)
    f();
  done.clear(); // one may hold the last reference to the saver, whose end takes the lock
  lock.lock();
}

/// Under the lock: whoever waited to write, or for what was written, has another look.
void sqlite_writer::end_turn() {
  is_writing_ = false;
  if (is_kept_waiting_)
    work_.notify_one();
  written_.notify_all();
}

void sqlite_writer::linger(const book_ptr& of, const cursor_ptr& at) {
  at->tasks_due = clock::now() + options_.linger;
  lingering_.push_back({at->tasks_due, of, at});
  if (lingering_.size() == 1)
    work_.notify_one();
}

namespace {

/// What is known of tasks and was not saved with a checkpoint, as a job of its own.
std::optional<job> job_of_tasks(sqlite_writer& to, const book_ptr& of, const cursor_ptr& at) {
  if (at->tasks.empty())
    return std::nullopt;
  auto j = job{};
  j.layout = to.text_of(at->head.saved.point->layout);
  j.of = of;
  j.at = at;
  j.head.id = at->head.saved.point->id;
  j.tasks = std::exchange(at->tasks, {});
  return j;
}

} // namespace

void sqlite_writer::flush(const book_ptr& of) {
  for (auto& [ns, at] : of->cursors)
    if (auto j = job_of_tasks(*this, of, at))
      give(std::move(*j));
}

/// Most were taken along long before their time, by the next checkpoint: those wake nobody.
void sqlite_writer::take_lingering(clock::time_point now) {
  const auto is_over = [](const lingering& l) {
    return l.at->tasks.empty() || l.at->tasks_due != l.due;
  };
  while (!lingering_.empty()) {
    auto& l = lingering_.front();
    if (!is_over(l)) {
      if (l.due > now && !is_stopping_)
        break;
      give(std::move(*job_of_tasks(*this, l.of, l.at)));
    }
    lingering_.pop_front();
  }
}

void sqlite_writer::wait_for_room(std::unique_lock<std::mutex>& lock) {
  written_.wait(lock, [&] { return queued_bytes_ < options_.queue_bytes_max; });
}

void sqlite_writer::wait_for(std::unique_lock<std::mutex>& lock, const book_ptr& of) {
  flush(of);
  written_.wait(lock, [&, until = of->given] { return of->saved >= until; });
}

void sqlite_writer::later(clock::time_point when, std::function<void(bool)> what) {
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

/// True: something was due, and the lock was given up meanwhile.
bool sqlite_writer::run_due(std::unique_lock<std::mutex>& lock) {
  if (timers_.empty() || (timers_.begin()->first > clock::now() && !is_stopping_))
    return false;
  auto due = timers_.extract(timers_.begin());
  const auto is_stopping = is_stopping_;
  lock.unlock();
  due.mapped()(is_stopping);
  due.mapped() = nullptr;
  lock.lock();
  return true;
}

void sqlite_writer::run(const std::function<void(database&)>& what) {
  auto lock = std::unique_lock{mutex_};
  auto e = errand{&what, {}, false};
  errands_.push_back(&e);
  work_.notify_one();
  written_.wait(lock, [&] { return e.is_done; });
  if (e.failed)
    std::rethrow_exception(e.failed);
}

/// False: it is time to go.
bool sqlite_writer::wait_for_work(std::unique_lock<std::mutex>& lock) {
  while (true) {
    is_kept_waiting_ = is_writing_;
    if (is_writing_) {
      work_.wait(lock);
      continue;
    }
    take_lingering(clock::now());
    if (!queue_.empty() || !errands_.empty())
      return true;
    if (!timers_.empty() && (is_stopping_ || timers_.begin()->first <= clock::now()))
      return true;
    if (is_stopping_)
      return false;
    auto until = clock::time_point::max();
    if (!lingering_.empty())
      until = lingering_.front().due;
    if (!timers_.empty())
      until = std::min(until, timers_.begin()->first);
    if (until == clock::time_point::max())
      work_.wait(lock);
    else
      work_.wait_until(lock, until);
  }
}

std::vector<job> sqlite_writer::take_batch() {
  auto batch = std::vector<job>{};
  while (!queue_.empty() && batch.size() < options_.batch_rows_max) {
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return batch;
}

void sqlite_writer::work() {
  auto lock = std::unique_lock{mutex_};
  while (wait_for_work(lock)) {
    if (run_due(lock))
      continue;
    if (queue_.empty()) { // what was given before an errand is written before it
      run_errand();
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
    auto done = take_waiting(batch);
    end_turn();
    lock.unlock();
    for (const auto& f : done)
      f();
    done.clear();
    batch.clear();
    lock.lock();
  }
}

/// Under the lock: the callbacks that what was written is all they waited for.
std::vector<std::function<void()>> sqlite_writer::take_waiting(std::span<job> batch) {
  auto done = std::vector<std::function<void()>>{};
  for (const auto& j : batch) {
    auto& waiting = j.of->waiting;
    const auto later = std::stable_partition(waiting.begin(), waiting.end(),
                                             [&](const auto& w) { return w.first > j.of->saved; });
    for (auto w = later; w != waiting.end(); ++w)
      done.push_back(std::move(w->second));
    waiting.erase(later, waiting.end());
  }
  return done;
}

/// Rolled back: numbers that the transaction gave are not there.
void sqlite_writer::forget_numbers() {
  layouts_.clear();
  seen_version_ = -1;
}

/// What cannot be written for one thread must not be the end of the others: after a failure each
/// is written by itself. Not when the file was busy, which all would wait for in turn.
void sqlite_writer::write(std::span<job> batch) {
  const auto begun = clock::now();
  auto failed = try_to_write(batch);
  if (!failed || batch.size() == 1 || clock::now() - begun >= options_.busy_timeout) {
    finish(batch, failed);
    return;
  }
  for (auto i = std::size_t{0}; i < batch.size(); ++i)
    finish(batch.subspan(i, 1), try_to_write(batch.subspan(i, 1)));
}

/// False: another process has the file, and nothing was written. The writer's thread waits for it,
/// and the calling one is free.
bool sqlite_writer::write_at_once(std::span<job> batch) noexcept {
  const auto is_an_error = file_size_signal_blocked{};
  try {
    if (!db_.try_run(begin_))
      return false;
  } catch (const saver_error&) { // it fails again below, and that is told
  }
  finish(batch, try_to_write(batch));
  return true;
}

std::optional<error> sqlite_writer::try_to_write(std::span<job> batch) {
  try {
    if (!db_.is_in_transaction())
      begin_.run();
    write_batch(batch);
    return std::nullopt;
  } catch (const saver_error& e) {
    db_.roll_back();
    forget_numbers();
    for (auto& j : batch)
      j.at->thread_no = 0;
    return error{e.code(), e.what()};
  }
}

void sqlite_writer::finish(std::span<job> batch, const std::optional<error>& failed) {
  const auto lock = std::scoped_lock{mutex_};
  for (auto& j : batch) {
    auto& of = *j.of;
    of.saved = std::max(of.saved, j.number);
    if (failed && !of.failed)
      of.failed = failed;
    if (!of.failed && j.is_point)
      j.at->written = j.head.id;
  }
}

void sqlite_writer::write_batch(std::span<job> batch) {
  check_heads(batch);
  auto rows = std::uint64_t{0};
  for (auto& j : batch) {
    if (j.of->failed)
      continue;
    insert(j);
    ++rows;
  }
  commit_.run();
  ++transactions_;
  rows_ += rows;
  seen_version_ = version_now_;
}

/// Compare and set: a thread is written only where nobody else has written since we looked. All of
/// a thread's rows are looked at before the first of them is written.
void sqlite_writer::check_heads(std::span<job> batch) {
  {
    auto s = statement_use{version_}; // changes when another connection commits, not when we do
    version_now_ = s->step() ? s->number(0) : -1;
  }
  if (version_now_ != seen_version_)
    ++epoch_; // whatever is known of any thread is to be looked at again
  auto seen = std::set<const cursor*>{};
  for (auto& j : batch) {
    if (!j.is_point && !j.effect && j.at->epoch != epoch_)
      (void)thread_no(*j.at);
    if (!j.is_point || !seen.insert(j.at.get()).second)
      continue;
    const auto is_known = std::exchange(j.at->epoch, epoch_) == epoch_ && j.at->thread_no != 0;
    if (is_known && j.at->written == j.before)
      continue;
    const auto found = thread_no(*j.at);
    const auto head = found == 0 ? std::string{} : head_of(found);
    const auto lock = std::scoped_lock{mutex_};
    if (head != j.before && !j.of->failed)
      j.of->failed = error{
          saver_errc::conflict,
          "thread '" + j.of->thread_id +
              "' was written by somebody else meanwhile: its newest checkpoint is " +
              (head.empty() ? "gone" : head) + ", not " + (j.before.empty() ? "none" : j.before) +
              "; nothing was overwritten: run again to go on from there"};
  }
}

std::string sqlite_writer::head_of(std::int64_t no) {
  auto s = statement_use{find_head_};
  s->bind(1, no);
  return s->step() ? std::string{s->text(0)} : std::string{};
}

/// The number of a thread, 0 when it has none.
std::int64_t sqlite_writer::thread_no(cursor& at) {
  auto s = statement_use{find_thread_};
  s->bind_text(1, at.key.thread_id);
  s->bind_text(2, at.key.ns);
  at.thread_no = s->step() ? s->number(0) : 0;
  return at.thread_no;
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
  } else { // the index has it; a row whose layout cannot be read would be lost
    auto s = statement_use{layout_};
    s->bind(1, no);
    if (!s->step() || s->text(0) != *text)
      throw layout_damaged(db_);
  }
  layouts_.emplace(*text, no);
  return no;
}

void sqlite_writer::insert(const job& j) {
  if (j.effect) {
    insert_effect(j);
    return;
  }
  if (!j.is_point) {
    insert_tasks(j);
    return;
  }
  if (j.at->thread_no == 0 && thread_no(*j.at) == 0) {
    add_thread_.bind_text(1, j.at->key.thread_id);
    add_thread_.bind_text(2, j.at->key.ns);
    add_thread_.bind(3, now_in_seconds());
    add_thread_.run();
    j.at->thread_no = db_.last_row();
  }
  insert_point(j);
}

/// A branch from an older checkpoint: it may have been pruned since it was loaded.
void sqlite_writer::check_base(const job& j) {
  if (j.base.empty() || j.base == j.before)
    return;
  auto s = statement_use{has_point_};
  s->bind(1, j.at->thread_no);
  s->bind_text(2, j.base);
  if (!s->step())
    throw saver_error{make_error_code(saver_errc::conflict),
                      "thread '" + j.of->thread_id + "': checkpoint " + j.base +
                          " was removed while a run went on from it; nothing was overwritten"};
}

void sqlite_writer::insert_point(const job& j) {
  check_base(j);
  auto text = j.row;      // the job may have to be written once more
  if (!j.tasks.empty()) { // the row ends with a brace
    text.pop_back();
    text += text.size() > 1 ? ",\"r\":[" : "\"r\":[";
    for (auto i = std::size_t{0}; i < j.tasks.size(); ++i)
      text += (i == 0 ? "" : ",") + j.tasks[i];
    text += "]}";
  }
  const auto row = db_.to_row(std::move(text), place_of_point(j.at->key, j.head.id));
  const auto sum =
      checksum_of({j.head.id, j.head.parent, j.base, std::to_string(j.head.step), row});
  auto s = statement_use{add_point_};
  s->bind(1, j.at->thread_no);
  s->bind_text(2, j.head.id);
  if (!j.base.empty() && j.base == j.head.parent)
    s->bind_null(3);
  else
    s->bind_text(3, j.head.parent);
  if (j.base.empty())
    s->bind_null(4);
  else
    s->bind_text(4, j.base);
  s->bind(5, j.head.step);
  s->bind(6, static_cast<std::int64_t>(j.head.source));
  s->bind(7, layout_no(j.layout));
  s->bind(8, j.chain);
  s->bind(9, j.whole);
  s->bind(10, now_in_seconds());
  s->bind(11, sum);
  s->bind_bytes(12, row);
  (void)s->step();
  if (j.ends_effects) {
    forget_effects_.bind_text(1, j.of->thread_id);
    forget_effects_.run();
  }
}

void sqlite_writer::insert_tasks(const job& j) {
  for (const auto& task : j.tasks)
    add_task(db_, add_task_, {j.at->thread_no, j.at->key, j.head.id, layout_no(j.layout)}, task);
}

/// That an effect begins is written for one run alone: another one that finds it written fails.
void sqlite_writer::insert_effect(const job& j) {
  const auto& [key, note] = *j.effect;
  auto s = statement_use{!note ? forget_effect_ : note->has_ended ? end_effect_ : begin_effect_};
  s->bind_text(1, j.of->thread_id);
  s->bind_text(2, key);
  const auto row =
      note ? db_.to_row(note->result, place_of_effect(j.of->thread_id, key)) : std::string{};
  if (note) {
    s->bind(3, checksum_of({j.of->thread_id, key, row}));
    s->bind_bytes(4, row);
  }
  (void)s->step();
  if (note && !note->has_ended && db_.changes() == 0) {
    const auto e = effect_begun_twice(j.of->thread_id);
    const auto lock = std::scoped_lock{mutex_};
    j.of->failed = error{e.code(), e.what()};
  }
}

/// Under the lock, which it gives up meanwhile.
void sqlite_writer::run_errand() {
  auto& e = *errands_.front();
  errands_.pop_front();
  is_writing_ = true;
  mutex_.unlock();
  try {
    db_.in_transaction("BEGIN IMMEDIATE", [&] { (*e.what)(db_); });
    ++transactions_;
  } catch (const std::exception&) {
    e.failed = std::current_exception();
  }
  mutex_.lock();
  forget_numbers();
  e.is_done = true;
  end_turn();
}

} // namespace superstep::detail

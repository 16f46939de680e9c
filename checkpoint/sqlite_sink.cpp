// SPDX-License-Identifier: Apache-2.0
// Writes the queue of a row_checkpointer to a file of SQLite. Before a checkpoint is written,
// check_heads() compares the newest checkpoint in the database with the one that the run expects. A
// difference means that another process has written to the thread.
#include "sqlite_sink.hpp"

#include "base/file_size_signal.hpp"
#include "lease_queue.hpp"
#include "row_bytes.hpp"
#include "row_maintenance.hpp"

#include <set>
#include <utility>

namespace superstep::detail {

namespace {

std::unique_ptr<sqlite_database> open_claimed(const std::string& path,
                                              const sqlite_checkpointer_options& options) {
  auto db = open_for_writing(path, options.busy_timeout, options.survives_power_loss,
                             options.encryption_key);
  if (options.owner)
    claim(*db, *options.owner);
  return db;
}

} // namespace

sqlite_sink::sqlite_sink(const std::string& path, const sqlite_checkpointer_options& options)
    : options_{options}, db_{open_claimed(path, options)},
      find_thread_{db_->prepare("SELECT no FROM @threads WHERE thread = ?1 AND ns = ?2")},
      add_thread_{db_->prepare("INSERT INTO @threads (thread, ns, created) VALUES (?1, ?2, ?3)")},
      find_layout_{db_->prepare(find_layout_sql)}, layout_{db_->prepare(layout_sql)},
      add_layout_{db_->prepare("INSERT INTO @layouts (text) VALUES (?1)")},
      add_checkpoint_{
          db_->prepare("INSERT INTO @points (thread, id, parent, base, step, source, layout, "
                       "chain, whole, made, sum, row) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, "
                       "?8, ?9, ?10, ?11, ?12)")},
      has_checkpoint_{db_->prepare("SELECT 1 FROM @points WHERE thread = ?1 AND id = ?2")},
      add_task_{db_->prepare(add_task_sql)},
      begin_effect_{
          db_->prepare("INSERT OR IGNORE INTO @effects (thread, key, ended, sum, row) VALUES "
                       "(?1, ?2, 0, ?3, ?4)")},
      end_effect_{
          db_->prepare("INSERT OR REPLACE INTO @effects (thread, key, ended, sum, row) VALUES "
                       "(?1, ?2, 1, ?3, ?4)")},
      forget_effect_{db_->prepare("DELETE FROM @effects WHERE thread = ?1 AND key = ?2")},
      forget_effects_{db_->prepare("DELETE FROM @effects WHERE thread = ?1")},
      find_head_{db_->prepare("SELECT id FROM @points WHERE thread = ?1 ORDER BY id DESC LIMIT 1")},
      begin_{db_->prepare("BEGIN IMMEDIATE")}, commit_{db_->prepare("COMMIT")},
      version_{db_->prepare("PRAGMA data_version")} {}

/// Clears cached row numbers after a rollback or a maintenance task: the rows may no longer exist.
void sqlite_sink::invalidate_numbers() {
  layouts_.clear();
  last_data_version_ = -1;
}

/// Writes a batch in one transaction. If the transaction fails, each entry is written separately,
/// so that the failure of one thread does not affect the others. That is not done if the file was
/// locked for the whole busy timeout, because each entry would wait again.
void sqlite_sink::write(std::span<pending_write> batch) {
  const auto started = std::chrono::steady_clock::now();
  auto failed = try_to_write(batch);
  if (!failed || batch.size() == 1 ||
      std::chrono::steady_clock::now() - started >= options_.busy_timeout) {
    record_outcome(batch, failed);
    return;
  }
  for (auto i = std::size_t{0}; i < batch.size(); ++i)
    record_outcome(batch.subspan(i, 1), try_to_write(batch.subspan(i, 1)));
}

/// Writes on the thread of a caller, without waiting for the file. Returns false without writing if
/// another process has locked the file; the caller then leaves the write to the writer thread.
bool sqlite_sink::try_write_now(std::span<pending_write> batch) noexcept {
  const auto is_an_error = file_size_signal_blocked{};
  try {
    if (!db_->try_run(begin_))
      return false;
  } catch (const checkpoint_error&) { // try_to_write() fails with the same error and reports it
  }
  record_outcome(batch, try_to_write(batch));
  return true;
}

/// Writes a batch in one transaction, which may already be open. If that fails, rolls the
/// transaction back and returns the error.
std::optional<error> sqlite_sink::try_to_write(std::span<pending_write> batch) {
  try {
    if (!db_->is_in_transaction())
      begin_.run();
    write_batch(batch);
    return std::nullopt;
  } catch (const checkpoint_error& e) {
    db_->roll_back();
    invalidate_numbers();
    for (auto& j : batch)
      j.head->thread_no = 0;
    return error{e.code(), e.what()};
  }
}

void sqlite_sink::write_batch(std::span<pending_write> batch) {
  check_heads(batch);
  auto rows = std::uint64_t{0};
  for (auto& j : batch) {
    if (j.thread->failed) // this write depends on one that was not saved
      continue;
    insert(j);
    ++rows;
  }
  commit_.run();
  count_transaction(rows);
  last_data_version_ = data_version_;
}

/// Compares, for each thread in the batch, the newest checkpoint in the database with the one that
/// the first entry that compares it expects. If they differ, marks the thread as failed, so that
/// its writes are skipped. The transaction is open: no other process can write before this batch.
void sqlite_sink::check_heads(std::span<pending_write> batch) {
  {
    // SQLite changes `data_version` when another connection commits, but not for our own commits.
    auto s = statement_use{version_};
    data_version_ = s->step() ? s->number(0) : -1;
  }
  if (data_version_ != last_data_version_)
    ++epoch_; // another connection has written: cached ids of newest checkpoints may be outdated
  auto seen = std::set<const namespace_head*>{};
  for (auto& j : batch) {
    if (!j.before && !j.effect && j.head->epoch != epoch_)
      (void)thread_no(*j.head);
    if (!j.before || !seen.insert(j.head.get()).second)
      continue;
    const auto is_known = std::exchange(j.head->epoch, epoch_) == epoch_ && j.head->thread_no != 0;
    if (is_known && j.head->written == j.before)
      continue;
    const auto found = thread_no(*j.head);
    const auto head = found == 0 ? std::string{} : head_of(found);
    if (head != j.before)
      fail(*j.thread, written_by_another_run(j.thread->thread_id, head, *j.before));
  }
}

std::string sqlite_sink::head_of(std::int64_t no) {
  auto s = statement_use{find_head_};
  s->bind(1, no);
  return s->step() ? std::string{s->text(0)} : std::string{};
}

/// Looks up the row number of a namespace in table `threads`; 0 if there is none.
std::int64_t sqlite_sink::thread_no(namespace_head& head) {
  auto s = statement_use{find_thread_};
  s->bind_text(1, head.key.thread_id);
  s->bind_text(2, head.key.ns);
  head.thread_no = s->step() ? s->number(0) : 0;
  return head.thread_no;
}

std::int64_t sqlite_sink::layout_no(const std::shared_ptr<const std::string>& text) {
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
    no = db_->last_row();
  } else { // compare the index with the table: a row with a damaged layout could not be read
    auto s = statement_use{layout_};
    s->bind(1, no);
    if (!s->step() || s->text(0) != *text)
      throw layout_damaged(*db_);
  }
  layouts_.emplace(*text, no);
  return no;
}

void sqlite_sink::insert(const pending_write& j) {
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
    j.head->thread_no = db_->last_row();
  }
  insert_checkpoint(j);
}

/// Checks that the base of a branch's first delta still exists: an older checkpoint may have been
/// pruned since it was loaded.
void sqlite_sink::check_base(const pending_write& j) {
  if (j.base.empty() || j.base == j.before)
    return;
  auto s = statement_use{has_checkpoint_};
  s->bind(1, j.head->thread_no);
  s->bind_text(2, j.base);
  if (!s->step())
    throw checkpoint_error{base_was_deleted(j.thread->thread_id, j.base)};
}

void sqlite_sink::insert_checkpoint(const pending_write& j) {
  check_base(j);
  const auto row = db_->to_row(complete_row(j), checkpoint_place(j.head->key, j.header.id));
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

void sqlite_sink::insert_tasks(const pending_write& j) {
  for (const auto& task : j.tasks)
    add_task(*db_, add_task_, {j.head->thread_no, j.head->key, j.header.id, layout_no(j.layout)},
             task);
}

/// Writes or erases an effect record. Only one run can record the start of an effect. If the row
/// exists already, the thread of this write fails with checkpoint_errc::conflict.
void sqlite_sink::insert_effect(const pending_write& j) {
  const auto& [key, record] = *j.effect;
  auto s = statement_use{!record             ? forget_effect_
                         : record->has_ended ? end_effect_
                                             : begin_effect_};
  s->bind_text(1, j.thread->thread_id);
  s->bind_text(2, key);
  const auto row =
      record ? db_->to_row(record->result, effect_place(j.thread->thread_id, key)) : std::string{};
  if (record) {
    s->bind(3, checksum_of({j.thread->thread_id, key, row}));
    s->bind_bytes(4, row);
  }
  (void)s->step();
  if (record && !record->has_ended && db_->changes() == 0) {
    const auto e = effect_already_started(j.thread->thread_id);
    fail(*j.thread, {e.code(), e.what()});
  }
}

void sqlite_sink::run(const std::function<void(database&)>& what) {
  try {
    db_->in_transaction(transaction::write, [&] { what(*db_); });
  } catch (...) {
    invalidate_numbers();
    throw;
  }
  invalidate_numbers();
  count_transaction(0);
}

} // namespace superstep::detail

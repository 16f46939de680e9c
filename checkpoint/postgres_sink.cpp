// SPDX-License-Identifier: Apache-2.0
// Writes batches of a row_checkpointer to PostgreSQL. postgres_batch.cpp collects the columns of a
// batch, and postgres_functions.cpp has the function that stores them.
#include "postgres_sink.hpp"

#include "exported_thread.hpp"
#include "lease_queue.hpp"
#include "postgres_batch.hpp"
#include "row_maintenance.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace superstep::detail {

namespace {

constexpr auto lost_connection = errc::io_failed;
/// In the error of save() if the row of this process is missing: it was idle for days.
constexpr auto not_registered = std::string_view{"SS001"};

error as_checkpoint_error(const error& why) {
  const auto e = postgres_failed(why);
  return {e.code(), e.what()};
}

/// Returns the error for a conflict that save() has found.
error conflict_error(const batch_conflict& conflict, const pending_write& of) {
  const auto& thread_id = of.thread->thread_id;
  switch (conflict.what) {
  case batch_conflict::kind::head:
    return written_by_another_run(thread_id, conflict.found, of.before.value_or(""));
  case batch_conflict::kind::lease:
    return {checkpoint_errc::conflict,
            "thread '" + thread_id +
                "' was taken over by a run of another process; nothing was overwritten: run again "
                "to resume from there"};
  case batch_conflict::kind::base:
    return base_was_deleted(thread_id, conflict.found);
  case batch_conflict::kind::effect:
    break;
  }
  const auto e = effect_already_started(thread_id);
  return {e.code(), e.what()};
}

} // namespace

postgres_sink::postgres_sink(const pg_address& address,
                             const postgres_checkpointer_options& options,
                             std::shared_ptr<postgres_leases> leases,
                             std::function<bool()> is_cancelled)
    : is_durable_{options.survives_power_loss}, leases_{std::move(leases)},
      db_{open_postgres(address, options.encryption_key, options.reconnect_timeout,
                        std::move(is_cancelled))} {}

postgres_sink::~postgres_sink() {
  if (writer_ == 0 || !db_->connection().is_open())
    return; // the row is deleted later; see add_writer()
  auto own = pg_parameters{};
  own.add(writer_);
  (void)db_->connection().run("delete from superstep_threads.writers where writer = $1", own);
}

/// Registers this process. A process that only reads is not registered, so it needs no right to
/// write.
result<void> postgres_sink::add_writer() {
  const auto added = db_->connection().run("select superstep_threads.add_writer()");
  if (!added)
    return added.error();
  writer_ = added->number(0, 0);
  number_ = 0;
  return {};
}

result<pg_rows> postgres_sink::save(const batch_columns& batch, std::int64_t number) {
  auto given = pg_parameters{};
  given.reserve(save_parameters);
  given.add(writer_);
  given.add(number);
  given.add(leases_->holder());
  given.add(now_in_seconds());
  given.add(is_durable_);
  batch.add_to(given);
  return db_->connection().run(save_sql, given);
}

/// Asks until the server answers, or the time is over.
result<postgres_sink::answer> postgres_sink::settle(std::int64_t number) {
  auto given = pg_parameters{};
  given.add(writer_);
  given.add(number);
  auto left = reconnect_clock{db_->connection(), db_->reconnect_timeout()};
  while (true) {
    const auto rows = db_->connection().run("select superstep_threads.settle($1, $2)", given);
    if (rows)
      return rows->is_null(0, 0) ? answer{} : answer{rows->text(0, 0)};
    if (rows.error().code != make_error_code(lost_connection) || !left.wait()) {
      auto out = as_checkpoint_error(rows.error());
      out.text += "; it is not known whether the latest checkpoint was saved";
      return out;
    }
  }
}

/// Records the outcome of entries that save() has answered.
void postgres_sink::record_answer(std::span<pending_write> batch, const std::string& text) {
  const auto spaces = batch_spaces{batch};
  for (const auto& conflict : read_conflicts(text))
    if (const auto* of = spaces.first_write(conflict.space))
      fail(*of->thread, conflict_error(conflict, *of));
  record_outcome(batch, std::nullopt);
  count_transaction(batch.size());
}

void postgres_sink::write(std::span<pending_write> batch) {
  if (const auto number = std::exchange(unsettled_, 0); number > 0) {
    const auto settled = settle(number);
    if (!settled) {
      record_outcome(batch, settled.error());
      return;
    }
    if (*settled) {
      record_answer(batch.first(1), **settled);
      batch = batch.subspan(1);
    }
  }
  if (batch.empty())
    return;
  const auto failed = try_to_write(batch);
  if (!failed || batch.size() == 1 || !db_->connection().is_open()) {
    record_outcome(batch, failed);
    return;
  }
  // A write that the server rejects must not affect other threads.
  for (auto i = std::size_t{0}; i < batch.size(); ++i)
    record_outcome(batch.subspan(i, 1), try_to_write(batch.subspan(i, 1)));
}

bool postgres_sink::try_write_now(std::span<pending_write> batch) noexcept {
  if (writer_ == 0 || unsettled_ > 0 || !db_->connection().is_open())
    return false;
  const auto columns = batch_columns{batch, *db_, *leases_};
  const auto saved = save(columns, ++number_);
  if (saved) {
    record_answer(batch, std::string{saved->text(0, 0)});
    return true;
  }
  if (saved.error().code == make_error_code(lost_connection)) {
    unsettled_ = number_;
    return false;
  }
  if (saved.error().text.find(not_registered) != std::string::npos)
    return false; // the writer thread registers this process again
  record_outcome(batch, as_checkpoint_error(saved.error()));
  return true;
}

/// Writes a batch. Returns an error if the server rejects it or cannot be reached.
std::optional<error> postgres_sink::try_to_write(std::span<pending_write> batch) {
  const auto columns = batch_columns{batch, *db_, *leases_};
  auto left = reconnect_clock{db_->connection(), db_->reconnect_timeout()};
  while (true) {
    if (writer_ == 0)
      if (const auto added = add_writer(); !added) {
        if (added.error().code != make_error_code(lost_connection) || !left.wait())
          return as_checkpoint_error(added.error());
        continue;
      }
    const auto saved = save(columns, ++number_);
    if (saved) {
      record_answer(batch, std::string{saved->text(0, 0)});
      return std::nullopt;
    }
    if (saved.error().text.find(not_registered) != std::string::npos) {
      writer_ = 0;
      continue;
    }
    if (saved.error().code != make_error_code(lost_connection))
      return as_checkpoint_error(saved.error());
    const auto settled = settle(number_);
    if (!settled)
      return settled.error();
    if (*settled) {
      record_answer(batch, **settled);
      return std::nullopt;
    }
    if (!left.wait())
      return as_checkpoint_error(saved.error());
  }
}

/// Excludes other writers, as a transaction of SQLite does. Readers are not affected.
void postgres_sink::run(const std::function<void(database&)>& what) {
  db_->in_transaction(transaction::write, [&] {
    db_->exec("lock table superstep_threads.threads in exclusive mode");
    what(*db_);
  });
  count_transaction(0);
}

} // namespace superstep::detail

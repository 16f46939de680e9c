// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpoint.hpp>
#include <superstep/checkpoint/fwd.hpp>
#include <superstep/checkpoint/saver_error.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep {

/// Which checkpoints of a thread are wanted; newest first.
struct checkpoint_query {
  std::string before; ///< only ids less than this one; empty: all
  std::optional<checkpoint_source> source;
  std::optional<std::int64_t> step;
  std::size_t limit = 0;   ///< 0: all
  json::object metadata{}; ///< entries that a checkpoint's metadata must have
};

/// The right to write to a thread, for as long as it is held.
class thread_lease {
public:
  thread_lease() = default;
  thread_lease(const thread_lease&) = delete;
  thread_lease& operator=(const thread_lease&) = delete;
  virtual ~thread_lease() = default;
  /// False: another run has taken the thread over.
  [[nodiscard]] virtual bool is_held() const noexcept = 0;
};
using lease_ptr = std::shared_ptr<thread_lease>;

/// What is known of an effect that a task has on the world outside, under a key of its own.
struct effect_note {
  bool has_ended = false; ///< not: it had begun when this was noted
  std::string result{};   ///< what came of it, in words of whoever noted it
  friend bool operator==(const effect_note&, const effect_note&) = default;
};

/// Keeps the checkpoints of threads.
///
/// A checkpoint is put once and never changed; what becomes known of the tasks that follow it is
/// added under its id. All that is given for one thread becomes durable in the order in which it
/// was given, and what was given is seen by whoever loads after. A checkpoint and the task records
/// before it are committed together.
///
/// `as` is the layout that a checkpoint is read for: channels, nodes and joins are matched by name.
/// An added channel has the value that it starts with, that of a removed one is lost, one of
/// another type is refused unless the layout converts it. A node that is gone is listed in
/// `lost_nodes`.
///
/// Errors: saver_error, saying what failed, of which thread, and what is safe. A failed write is
/// told by the next call for the thread and by check(); the thread stays as it was.
/// tests/checkpoint/saver_contract.hpp is this contract as tests.
/// @par Threads
/// All members may be called from any thread. One thread id is written by one run at a time.
class saver {
public:
  saver() = default;
  saver(const saver&) = delete;
  saver& operator=(const saver&) = delete;
  virtual ~saver() = default;

  /// Whether values must have a stored form (see stored_form.hpp) to be kept. compile() refuses a
  /// graph whose checkpointer needs one for a type without it. False for memory_saver.
  [[nodiscard]] virtual bool needs_stored_forms() const noexcept { return true; }

  /// A checkpoint by id, the newest without one; nothing when there is none.
  [[nodiscard]] virtual std::optional<saved_checkpoint> load(const thread_key&, std::string_view id,
                                                             const layout_ptr& as) = 0;
  [[nodiscard]] virtual std::vector<saved_checkpoint>
  list(const thread_key&, const checkpoint_query&, const layout_ptr& as) = 0;
  /// The id of the newest checkpoint; empty when there is none.
  [[nodiscard]] virtual std::string head(const thread_key&) = 0;
  virtual void put(const thread_key&, checkpoint_ptr) = 0;
  /// put() for a caller that has nothing to do until it is durable: when nothing else is being
  /// written, a saver may write it on the calling thread before this returns, which spares two
  /// hand-overs. when_saved() tells whether there still is something to wait for.
  virtual void put_now(const thread_key& key, checkpoint_ptr point) { put(key, std::move(point)); }
  /// Adds to what is known of a task that follows `of`, a checkpoint that was put or loaded; the
  /// record's writes are of its layout. Of a checkpoint that is gone, nothing is kept.
  virtual void put_task(const thread_key&, const checkpoint& of, task_record) = 0;
  /// What was noted of an effect. Notes last until the outermost graph of the thread has its next
  /// checkpoint: then the outputs of the tasks that had them are kept.
  [[nodiscard]] virtual std::optional<effect_note> find_effect(std::string_view thread_id,
                                                               std::string_view key);
  /// Notes an effect, or forgets it. That one has begun can be noted once: when somebody else has
  /// noted it, this fails with saver_errc::conflict, like a checkpoint that comes too late. In
  /// order with all that is given for the thread. Savers that cannot do it throw saver_error.
  virtual void put_effect(std::string_view thread_id, std::string_view key,
                          std::optional<effect_note> note);
  /// Forgets a thread, its subgraphs and its effects.
  virtual void delete_thread(std::string_view thread_id) = 0;
  /// Forgets the checkpoints of all threads whose metadata has one of these as `run_id`, and what
  /// is known of their tasks; subgraphs that hang below them go with them. How many went. Throws
  /// saver_error{in_use}, with nothing gone, while a run has one of the threads.
  virtual std::size_t delete_runs(const std::vector<std::string>& run_ids) = 0;

  /// Calls back once all that was given for the thread so far is durable or has failed, from a
  /// thread of the saver's, which must not be kept. False: nothing is to be waited for, and `done`
  /// is not called.
  [[nodiscard]] virtual bool when_saved(const thread_key&, std::function<void()> /*done*/) {
    return false;
  }
  /// Throws saver_error when something given for the thread earlier could not be saved.
  virtual void check(const thread_key&) {}

  /// A thread and its subgraphs as bytes, which any saver, in any process, can import.
  /// Throws saver_error, also when there is no such thread.
  [[nodiscard]] virtual std::string export_thread(std::string_view thread_id) = 0;
  /// Takes an exported thread under a name that is free. Throws saver_error: it is taken, or the
  /// bytes are damaged, cut or of a newer format; nothing is taken then.
  virtual void import_thread(std::string_view thread_id, std::string_view bytes) = 0;

  /// Takes the thread for one run, its subgraphs included. Calls back with the lease, null where
  /// the saver keeps none, or with saver_errc::in_use; at once, or from the thread that gives the
  /// lease back. Runs of other processes are kept apart by their writes: see the errors of put().
  virtual void take(const std::string& /*thread_id*/, when_in_use,
                    std::function<void(result<lease_ptr>)> done) {
    done(lease_ptr{});
  }
};

} // namespace superstep

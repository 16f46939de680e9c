// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpoint.hpp>
#include <superstep/checkpoint/checkpoint_error.hpp>
#include <superstep/checkpoint/fwd.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep {

/// Selects checkpoints of a thread. Conditions are combined with "and"; results are newest first.
struct checkpoint_query {
  std::string before;                      ///< only ids less than this one; empty for no bound
  std::optional<checkpoint_source> source; ///< only checkpoints of this source
  std::optional<std::int64_t> step;        ///< only checkpoints of this super-step
  std::size_t limit = 0;                   ///< maximum number, applied last; 0 for no limit
  json::object metadata{};                 ///< entries that a checkpoint's metadata must contain
};

/// A lease on a thread: the right of one run to write to it. Destroying the object returns the
/// lease.
class thread_lease {
public:
  thread_lease() = default;
  thread_lease(const thread_lease&) = delete;
  thread_lease& operator=(const thread_lease&) = delete;
  virtual ~thread_lease() = default;
  /// Whether the lease is still valid; false once another run has taken the thread over. May be
  /// called from any thread.
  [[nodiscard]] virtual bool is_held() const noexcept = 0;
};
using lease_ptr = std::shared_ptr<thread_lease>;

/// The record of a side effect that a task has outside the program, such as sending a mail. Records
/// prevent that a resumed run repeats the effect.
struct effect_record {
  bool has_ended = false; ///< false: the effect was started, its outcome is not recorded
  std::string result{};   ///< the result, in the caller's own format
  friend bool operator==(const effect_record&, const effect_record&) = default;
};

/// An overview of one thread in a database.
struct thread_summary {
  std::string thread_id;
  std::int64_t created = 0;     ///< seconds since 1970-01-01 UTC
  std::int64_t checkpoints = 0; ///< number of checkpoints, including those of subgraphs
  std::int64_t bytes = 0;       ///< size of their rows
  std::string head;             ///< id of the outermost graph's newest checkpoint
};

/// Selects checkpoints to delete. A checkpoint is deleted only if all conditions allow it.
struct prune_options {
  std::string thread_id;     ///< empty for all threads
  std::size_t keep_last = 1; ///< newest checkpoints kept in each namespace, with their subgraphs
  std::chrono::seconds older_than{0}; ///< minimum age of deleted checkpoints; 0 for any age
  /// Whether a thread whose newest checkpoint is old enough is deleted entirely.
  bool whole_threads = false;
};

/// A checkpointer stores the checkpoints of threads. memory_checkpointer() and
/// sqlite_checkpointer() return implementations.
///
/// Checkpoints are immutable. Records of the tasks that run after a checkpoint are stored under its
/// id. All writes to one thread become durable in the order of the calls, and are visible at once
/// to every later load. A checkpoint and the task records before it are committed together.
///
/// The parameter `as` is the layout that a checkpoint is read for. Channels, nodes and joins are
/// matched by name. A new channel has its initial value, and the value of a removed channel is
/// dropped. A channel of a different type is refused unless the layout converts it. A pending node
/// that no longer exists is listed in checkpoint::lost_nodes.
///
/// All functions throw checkpoint_error, whose text states what failed, in which thread, and what
/// is safe. A write that fails after its call has returned is reported by the next call for the
/// thread and by check(); the stored thread is not changed by it.
/// tests/checkpoint/checkpointer_contract.hpp contains this contract as tests, which can be run on
/// any implementation.
/// @par Threads
/// All members may be called from any thread. One thread id is written by one run at a time.
/// @par Lifetime
/// The checkpointer must outlive the runs that use it; runs share its ownership.
class checkpointer {
public:
  checkpointer() = default;
  checkpointer(const checkpointer&) = delete;
  checkpointer& operator=(const checkpointer&) = delete;
  virtual ~checkpointer() = default;

  /// Whether values must have a stored form (see stored_form.hpp). If true, compile() refuses a
  /// graph with a type that has none. False for memory_checkpointer().
  [[nodiscard]] virtual bool needs_stored_forms() const noexcept { return true; }

  /// Loads a checkpoint and the records of the tasks that follow it.
  /// @param id id of the checkpoint; empty for the newest
  /// @return nullopt if there is no such checkpoint
  /// @throws checkpoint_error{type_changed, node_gone, corrupt, failed}
  [[nodiscard]] virtual std::optional<saved_checkpoint> load(const thread_key&, std::string_view id,
                                                             const layout_ptr& as) = 0;
  /// Loads the selected checkpoints, newest first.
  [[nodiscard]] virtual std::vector<saved_checkpoint>
  list(const thread_key&, const checkpoint_query&, const layout_ptr& as) = 0;
  /// Returns the id of the newest checkpoint; empty if there is none.
  [[nodiscard]] virtual std::string head(const thread_key&) = 0;
  /// Stores a checkpoint. It may become durable later; see when_saved().
  /// @throws checkpoint_error{not_storable} for a value that cannot be written, {conflict} if a
  /// checkpoint with this or a later id exists, or the error of an earlier write to the thread
  virtual void put(const thread_key&, checkpoint_ptr) = 0;
  /// put() for a caller that waits until the checkpoint is durable. If nothing else is being
  /// written, an implementation may write on the calling thread before it returns, which avoids two
  /// thread switches. when_saved() returns whether there is still something to wait for.
  virtual void put_now(const thread_key& key, checkpoint_ptr point) { put(key, std::move(point)); }
  /// Stores a record of a task that runs after `parent`, merging it with the task's earlier
  /// records; see record_index::add(). Does nothing if the checkpoint was deleted in the meantime.
  /// @param parent a checkpoint that was put or loaded; the record's numbers refer to its layout
  virtual void put_task(const thread_key&, const checkpoint& parent, task_record) = 0;
  /// Returns the record of a side effect; nullopt if there is none. Records are deleted with the
  /// next checkpoint of the thread's outermost graph: from then on the tasks' outputs are stored.
  /// @param key idempotency key of the effect
  [[nodiscard]] virtual std::optional<effect_record> find_effect(std::string_view thread_id,
                                                                 std::string_view key);
  /// Stores the record of a side effect, or erases it (nullopt). The start of an effect can be
  /// recorded once: if another run has already recorded it, the write fails with
  /// checkpoint_errc::conflict. Ordered with all other writes to the thread. The default throws
  /// checkpoint_error.
  virtual void put_effect(std::string_view thread_id, std::string_view key,
                          std::optional<effect_record> record);
  /// Deletes a thread with its subgraphs and effect records; does nothing if there is none.
  virtual void delete_thread(std::string_view thread_id) = 0;
  /// Deletes the checkpoints, in all threads, whose metadata contains one of these as `run_id`,
  /// with their task records and the subgraphs that belong to them.
  /// @return the number of deleted checkpoints
  /// @throws checkpoint_error{in_use} if a run holds one of the threads; nothing is deleted then
  virtual std::size_t delete_runs(const std::vector<std::string>& run_ids) = 0;

  /// Calls `done` once all earlier writes to the thread are durable or have failed. The call comes
  /// from a thread of the implementation; `done` must return quickly and must not block.
  /// @return false if there is nothing to wait for; `done` is not called then
  [[nodiscard]] virtual bool when_saved(const thread_key&, std::function<void()> /*done*/) {
    return false;
  }
  /// Throws the checkpoint_error of an earlier write to the thread that failed, if any.
  virtual void check(const thread_key&) {}

  /// Returns a thread and its subgraphs as text, which every checkpointer in every process can
  /// import; see docs/checkpoint-format.md, "Exported threads". Effect records are not exported.
  /// @throws checkpoint_error if there is no such thread
  [[nodiscard]] virtual std::string export_thread(std::string_view thread_id) = 0;
  /// Adds an exported thread under a new name.
  /// @throws checkpoint_error if the name is in use, or the bytes are damaged, incomplete or of a
  ///   newer format; nothing is imported then
  virtual void import_thread(std::string_view thread_id, std::string_view bytes) = 0;

  /// Acquires the lease on a thread and its subgraphs for one run.
  /// @param done receives the lease, null from implementations without leases, or the error
  ///   checkpoint_errc::in_use. Called before take() returns, or later by the thread that returns
  ///   the lease
  ///
  /// Leases do not protect against processes that do not use them: every put() also checks that the
  /// newest stored checkpoint is the one the run knows, and fails with conflict otherwise.
  virtual void take(const std::string& /*thread_id*/, busy_policy,
                    std::function<void(result<lease_ptr>)> done) {
    done(lease_ptr{});
  }

  // Inspection and maintenance. The defaults throw checkpoint_error{failed}: not supported.

  /// Returns threads sorted by id.
  /// @param after only ids greater than this one; empty for all
  /// @param limit maximum number
  [[nodiscard]] virtual std::vector<thread_summary> threads(std::string_view after = {},
                                                            std::size_t limit = 100);
  /// Returns a checkpoint as JSON, without the graph that defines its types. Members: `thread`,
  /// `ns`, `id`, `parent`, `source`, `step`, `graph`, `metadata`, `values`, `next` (node names) and
  /// `tasks` (stored records, see docs/checkpoint-format.md).
  /// @param id empty for the newest checkpoint
  /// @return nullopt if there is no such checkpoint
  [[nodiscard]] virtual std::optional<json::object> show(const thread_key&,
                                                         std::string_view id = {});
  /// Returns the selected checkpoints in the form of show() without `values` and `tasks`, newest
  /// first.
  [[nodiscard]] virtual std::vector<json::object> history(const thread_key&,
                                                          const checkpoint_query&);
  /// Deletes old checkpoints. All remaining ones can be resumed as before: pending interrupts
  /// belong to the newest checkpoint, and rows based on a deleted one are first rewritten as whole
  /// rows. An SQLite file does not shrink; SQLite reuses the space.
  /// @return the number of deleted checkpoints
  virtual std::size_t prune(const prune_options&);
};

} // namespace superstep

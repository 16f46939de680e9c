// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>
#include <superstep/channels/channel.hpp>
#include <superstep/channels/detail/named_barrier_value.hpp>
#include <superstep/checkpoint/detail/fwd.hpp>

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace superstep {

/// Reasons why a thread cannot be saved or loaded. docs/errors.md describes a remedy for each.
enum class checkpoint_errc {
  not_storable = 1, ///< a value's type has no stored form: describe it or specialise stored_form
  type_changed,     ///< a channel's type differs from the stored one
  node_gone,        ///< the thread's next node no longer exists in the graph
  corrupt,          ///< stored data is damaged or not in the expected format
  newer_format,     ///< written by a newer version of superstep
  failed,           ///< the disk or the database reported an error
  conflict,         ///< another run has written to the thread in the meantime
  in_use,           ///< another run holds the lease on the thread
  wrong_key,        ///< the encryption key is missing, wrong, or given for an unencrypted file
  /// The file belongs to another owner, or to none; see sqlite_checkpointer_options::owner.
  wrong_owner,
};
/// Returns the code in the category "checkpoint"; makes checkpoint_errc convertible to
/// std::error_code. May be called from any thread.
[[nodiscard]] std::error_code make_error_code(checkpoint_errc) noexcept;

/// The exception type of checkpointers, of the SQLite store and cache, and of the functions that
/// read their formats. An operation that throws it has not overwritten any stored data. what()
/// names the file or the thread, the reason, and what to do.
class checkpoint_error : public std::system_error {
public:
  /// @param code usually a checkpoint_errc
  /// @param text the complete text of what()
  checkpoint_error(std::error_code code, std::string text)
      : std::system_error{code}, text_{std::move(text)} {}
  /// Converts the error of a result<> or of a failed run.
  explicit checkpoint_error(error e) : checkpoint_error{e.code, std::move(e.text)} {}
  /// Returns the code of the error, which a stream prints by its name.
  [[nodiscard]] error_code code() const noexcept { return std::system_error::code(); }
  /// Returns the text, without the general message of the code, which std::system_error would
  /// append.
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

private:
  std::string text_;
};

} // namespace superstep

template <>
struct std::is_error_code_enum<superstep::checkpoint_errc> : std::true_type {};

namespace superstep {

/// A stored value whose channel has a different type in the current graph. The members are valid
/// only during the call of the converter.
struct outdated_value {
  std::string_view channel;   ///< name of the channel
  std::string_view from_type; ///< name of the stored type
  std::string_view to_type;   ///< name of the channel's current type
  const json::value& held;    ///< the value in the stored type's JSON form
};
/// A function that converts a stored value to the JSON form of the channel's current type. If it
/// returns nullopt, loading fails with checkpoint_errc::type_changed. Set by
/// compile_options::convert. Called by the thread that loads the checkpoint, and by several threads
/// at once.
using value_converter = std::function<std::optional<json::value>(const outdated_value&)>;

/// Maps the numbers in a checkpoint to the channels, nodes and joins of a compiled graph. Immutable
/// and shared by all checkpoints of that graph. It must not own a checkpointer, because a
/// checkpointer owns checkpoints, which own their layout: neither would ever be destroyed.
struct graph_layout {
  /// A node of the graph.
  struct node {
    std::string name;                  ///< name of the node
    const value_form* input = nullptr; ///< form of a Send's input; null if it cannot be stored
  };
  /// An edge with several sources.
  struct join {
    std::vector<std::string> sources; ///< nodes that the join waits for
    std::uint32_t target = 0;         ///< index of the node that it triggers
  };

  std::string graph;                                    ///< name of the graph
  std::vector<std::unique_ptr<const channel>> channels; ///< a channel's number is its index
  std::vector<node> nodes;                              ///< a node's number is its index
  std::vector<join> joins;                              ///< a join's number is its index
  std::function<state_ptr()> make_state;                ///< returns a new state with initial values
  value_converter convert; ///< if empty, values of changed types are errors
  /// Error categories whose codes are restored with task exceptions, in addition to the generic and
  /// the system category and those of errc, channel_errc and checkpoint_errc. An exception with a
  /// code of another category is restored without its code.
  std::vector<const std::error_category*> error_categories;
};
using layout_ptr = std::shared_ptr<const graph_layout>;

/// A Send: an additional activation of a node in the next super-step, with its own input.
struct send {
  /// Milliseconds in 32 bits, because there may be many Sends.
  using milliseconds = std::chrono::duration<std::uint32_t, std::milli>;

  std::uint32_t node = 0;  ///< index into graph_layout::nodes
  milliseconds timeout{0}; ///< timeout of each attempt; 0 uses the node's timeout
  value input;             ///< replaces the state as the node's input
};

/// A pending question of a task to a human.
/// Source: `Interrupt` in LangGraph 1.2.22, types.py.
struct interrupt {
  /// The id, derived from the task and the position of the question among those of the task. It
  /// stays the same in every process until the question is answered.
  std::string id;
  json::value value; ///< the question, as the task passed it
};

/// Reasons why a node is scheduled, combined as bits. A state edit clears only `branch`, because
/// only a run of the node clears the others.
enum class trigger_cause : std::uint8_t {
  branch = 1,    ///< an edge, a router or a command leads to the node
  join = 2,      ///< all sources of a join have run
  held_back = 4, ///< the node was deferred until no other node was triggered
};

/// A node that runs in the next super-step.
struct trigger {
  std::uint32_t node = 0;  ///< index into graph_layout::nodes
  std::uint8_t causes = 0; ///< bits of trigger_cause
};

/// Version numbers of writes and of the reads that followed them. The barrier of each super-step
/// uses the next number. A state edit that does not name a node counts as the result of the node
/// that ran last, which these numbers identify. Source: `channel_versions` and `versions_seen` of
/// `Checkpoint` in LangGraph 1.2.22.
struct seen_versions {
  std::uint64_t last = 0;                 ///< the highest number used so far
  std::uint64_t entry = 0;                ///< number of the latest input
  std::uint64_t entry_seen = 0;           ///< number of the latest input that START has processed
  std::vector<std::uint64_t> branch;      ///< per node: number of its latest trigger or run
  std::vector<std::uint64_t> branch_seen; ///< per node: `branch` at the time the node last ran
  std::vector<std::uint64_t> join;        ///< per join: number of the latest arrival of a source
  std::vector<std::uint64_t> join_seen;   ///< per join: `join` at the time its target last ran
};

/// The scheduling state of a thread between two super-steps: everything but the channel values.
struct position {
  /// The writes of the input or command that the hidden START task applies next; unset if START has
  /// run.
  std::optional<write_list> input;
  std::vector<std::uint32_t> input_targets; ///< additional nodes that the input triggers
  std::vector<trigger> triggered;           ///< nodes of the next super-step
  std::vector<trigger> deferred; ///< deferred nodes, which wait until no other node is triggered
  std::vector<named_barrier_value> joins; ///< per join: the sources that have arrived
  std::vector<send> sends;                ///< additional activations of the next super-step
  seen_versions versions;                 ///< order of past writes and reads
};

/// The operation that created a checkpoint.
enum class checkpoint_source : std::uint8_t {
  input,  ///< a new input
  loop,   ///< a super-step
  update, ///< a state edit
  fork,   ///< a copy of an older checkpoint
};
/// Returns the enumerator's name, which is also its stored form. The text is static. May be called
/// from any thread.
[[nodiscard]] std::string_view to_text(checkpoint_source) noexcept;

/// A snapshot of a thread between two super-steps. Immutable once saved; values are shared, not
/// copied.
struct checkpoint {
  std::string id;     ///< unique within its namespace; ids sort as text in order of creation
  std::string parent; ///< id of the checkpoint it was made from; empty for the first
  checkpoint_source source = checkpoint_source::input; ///< the operation that created it
  std::int64_t step = 0; ///< number of the super-step before it; -1 for the first input
  layout_ptr layout;     ///< the graph that `state` and `where` refer to
  state_view state;      ///< channel values
  position where;        ///< pending nodes, joins and Sends
  /// Texts, numbers and booleans of run_config's `metadata` and `configurable` for the run that
  /// made the checkpoint; null if there were none.
  std::shared_ptr<const json::object> metadata;
  /// Names of pending nodes that no longer exist in the graph that the checkpoint was loaded for.
  std::vector<std::string> lost_nodes;
};
using checkpoint_ptr = std::shared_ptr<const checkpoint>;

/// Whether `metadata` contains every entry of `wanted` with an equal value. For implementations of
/// checkpointer. May be called from any thread.
/// @param metadata metadata of a checkpoint; null if it has none
/// @param wanted see checkpoint_query::metadata
[[nodiscard]] bool has_entries(const json::object* metadata, const json::object& wanted) noexcept;

/// The result of one task, stored until its super-step is applied.
struct task_output {
  std::vector<write> writes;          ///< writes to channels
  std::vector<std::uint32_t> targets; ///< nodes that the task triggers
  std::vector<send> sends;            ///< additional activations of the next super-step
};

/// The record of one task of the super-step that follows a checkpoint.
struct task_record {
  /// Path of the task: `agent`, or `tools#3` for the fourth Send; empty for writes of the run's
  /// caller.
  std::string task;
  std::optional<task_output> output; ///< set if the task has finished; it is not run again
  std::optional<std::vector<interrupt>> interrupts; ///< latest questions, answered or not
  std::vector<json::value> answers;  ///< resume values, in the order of the task's questions
  std::string error;                 ///< error text; empty if the task did not fail
  std::exception_ptr cause;          ///< cause of the error; a restored_error if read from storage
  std::optional<json::value> resume; ///< the caller's resume value for the first open question
  /// Names of nodes that the output chose and that no longer exist in the graph that the record was
  /// loaded for. The output does not contain them.
  std::vector<std::string> lost_nodes;
};

/// Returns the part of a record that is stored: a copy without writes to channels that checkpoints
/// do not contain. For implementations of checkpointer. May be called from any thread.
/// @param of the complete record
/// @param layout the layout that the record's channel numbers refer to
[[nodiscard]] task_record storable_part(const task_record& of, const graph_layout& layout);
/// Returns the checkpoint without values of channels that checkpoints do not contain, copied only
/// if it has such values. For implementations of checkpointer. May be called from any thread.
[[nodiscard]] checkpoint_ptr storable_part(checkpoint_ptr of);

/// An index over an append-only list of task records. Lookup is O(1) on average; lists of up to 16
/// records are searched without an index. Not thread-safe.
class record_index {
public:
  /// Adds a record to the list, or merges it into the record of the same task. Questions, answers
  /// and errors replace the earlier ones; an output is never replaced. Outputs of the run's caller
  /// (empty task path) are concatenated.
  /// @param known the same list as in every other call since clear()
  /// @param more the record to add
  void add(std::vector<task_record>& known, task_record more);
  /// Returns the record of a task; null if there is none. The pointer is valid until the list
  /// changes.
  /// @param known the same list as in every other call since clear()
  [[nodiscard]] const task_record* find(const std::vector<task_record>& known,
                                        std::string_view task) const;
  /// Resets the index; call it when the list was cleared or replaced.
  void clear() noexcept;

private:
  struct hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  static constexpr std::size_t unindexed_max = 16;
  mutable std::unordered_map<std::string, std::size_t, hash, std::equal_to<>> by_task_;
  mutable std::size_t indexed_ = 0; ///< records of the list that are in the map
};

/// A checkpoint together with the records of the tasks that follow it.
struct saved_checkpoint {
  checkpoint_ptr checkpoint;      ///< the checkpoint; not null
  std::vector<task_record> tasks; ///< one per task, in the order of their first record
};

/// Identifies a sequence of checkpoints: a thread, and within it the graph or one of its subgraphs.
struct thread_key {
  std::string thread_id; ///< id of the thread, chosen by the user
  /// Namespace: empty for the outermost graph, `node:task|node:task` for a subgraph.
  std::string ns;
  /// Orders keys by thread and namespace.
  auto operator<=>(const thread_key&) const = default;
};

/// Selects checkpoints of a thread. A checkpoint must match all conditions; results are newest
/// first.
struct checkpoint_query {
  std::string before{};                      ///< only ids less than this one; empty for no bound
  std::optional<checkpoint_source> source{}; ///< only checkpoints of this source
  std::optional<std::int64_t> step{};        ///< only checkpoints of this super-step
  std::optional<std::size_t> limit{};        ///< maximum number, applied last; unset: no limit
  json::object metadata{};                   ///< entries that a checkpoint's metadata must contain
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

/// The record of a side effect outside the program, such as sending a mail. With it a resumed run
/// can avoid repeating the effect. See idempotent() and journaled() in tools/tool_wrappers.hpp.
struct effect_record {
  bool has_ended = false; ///< false: the effect was started, and its outcome is unknown
  std::string result{};   ///< the result, in the caller's own format
  friend bool operator==(const effect_record&, const effect_record&) = default;
};

/// An overview of one thread.
struct thread_summary {
  std::string thread_id;        ///< id of the thread
  std::int64_t created = 0;     ///< seconds since 1970-01-01 UTC
  std::int64_t checkpoints = 0; ///< number of checkpoints, including those of subgraphs
  std::int64_t bytes = 0;       ///< size of their rows; 0 if they are in memory
  std::string head;             ///< id of the outermost graph's newest checkpoint
};

/// Selects checkpoints to delete. A checkpoint is deleted only if all conditions allow it.
struct prune_options {
  std::string thread_id{}; ///< the thread to prune; empty for all threads
  /// Number of newest checkpoints to keep in each namespace; 0 counts as 1. Checkpoints of
  /// subgraphs that these need are kept as well.
  std::size_t keep_last = 1;
  std::chrono::seconds older_than{0}; ///< minimum age of deleted checkpoints; 0 for any age
  /// Whether a thread is deleted completely if the age of its newest checkpoint is at least
  /// `older_than`.
  bool whole_threads = false;
};

/// A checkpointer stores the checkpoints of threads. memory_checkpointer() and
/// sqlite_checkpointer() return implementations.
///
/// Checkpoints are immutable. Records of the tasks that run after a checkpoint are stored under its
/// id. All writes to one thread become durable in the order of the calls, and are visible at once
/// to every later load. A checkpoint never becomes durable without the task records that were
/// stored before it.
///
/// The parameter `as` is the layout that a checkpoint is read for. Channels, nodes and joins are
/// matched by name. A new channel has its initial value, and the value of a removed channel is
/// dropped. A value of a different type is an error unless the layout converts it. A pending node
/// that no longer exists is listed in checkpoint::lost_nodes, and one that the output of a task
/// chose in task_record::lost_nodes.
///
/// All functions that access storage may throw checkpoint_error, whose text states what failed, in
/// which thread, and what is safe. A write that fails after its call has returned does not change
/// the stored thread. The next call for the thread and check() report the failure.
/// tests/unit/checkpoint/checkpointer_contract.hpp contains this contract as tests, which can be
/// run on any implementation.
/// @par Threads
/// All members may be called from any thread and may block it while they read. Only one run at a
/// time may write to a thread id.
/// @par Lifetime
/// Graphs and runs share the ownership of their checkpointer.
///
/// Source: `BaseCheckpointSaver` in LangGraph 1.2.22, checkpoint/base.
class checkpointer {
public:
  checkpointer() = default;
  checkpointer(const checkpointer&) = delete;
  checkpointer& operator=(const checkpointer&) = delete;
  virtual ~checkpointer() = default;

  /// Whether values must have a stored form (see stored_form.hpp). If true, compile() rejects a
  /// graph with a type that has no stored form. False for memory_checkpointer().
  [[nodiscard]] virtual bool needs_stored_forms() const noexcept { return true; }

  /// Loads a checkpoint and the records of the tasks that follow it.
  /// @param id id of the checkpoint; empty for the newest
  /// @param as the layout to read it for; shared by the result
  /// @return the checkpoint; nullopt if there is no such checkpoint
  /// @throws checkpoint_error{type_changed, corrupt, failed}
  [[nodiscard]] virtual std::optional<saved_checkpoint> load(const thread_key&, std::string_view id,
                                                             const layout_ptr& as) = 0;
  /// Loads the selected checkpoints, newest first; an empty list if there are none. Errors as for
  /// load().
  [[nodiscard]] virtual std::vector<saved_checkpoint>
  list(const thread_key&, const checkpoint_query&, const layout_ptr& as) = 0;
  /// Returns the id of the newest checkpoint; empty if there is none.
  [[nodiscard]] virtual std::string head(const thread_key&) = 0;
  /// Stores a checkpoint. It may become durable later; see when_saved().
  /// @throws checkpoint_error{not_storable} for a value that cannot be written, {conflict} if a
  /// checkpoint with this or a later id exists, or the error of an earlier write to the thread.
  /// memory_checkpointer() throws only {conflict}
  virtual void put(const thread_key&, checkpoint_ptr) = 0;
  /// Stores a checkpoint like put(), for a caller that then waits until it is durable. If nothing
  /// else is being written, an implementation may write on the calling thread before it returns,
  /// which avoids two thread switches. when_saved() returns whether the caller still has to
  /// wait.
  /// @param key the sequence of checkpoints
  /// @param point the checkpoint; not null
  virtual void put_now(const thread_key& key, checkpoint_ptr point) { put(key, std::move(point)); }
  /// Stores a record of a task that runs after `parent`, merging it with the task's earlier
  /// records; see record_index::add(). Does nothing if the checkpoint was deleted in the meantime.
  /// @param parent a checkpoint that was passed to put() or returned by load(). The record's
  /// numbers refer to its layout
  virtual void put_task(const thread_key&, const checkpoint& parent, task_record) = 0;
  /// Returns the record of a side effect; nullopt if there is none. The next checkpoint of the
  /// thread's outermost graph deletes the thread's records, because it contains the outputs of
  /// their tasks. The default returns nullopt.
  /// @param thread_id id of the thread
  /// @param key idempotency key of the effect; see tool_context::idempotency_key()
  [[nodiscard]] virtual std::optional<effect_record> find_effect(std::string_view thread_id,
                                                                 std::string_view key);
  /// Stores the record of a side effect, or erases it (nullopt). Ordered with all other writes to
  /// the thread. The default throws checkpoint_error{failed}.
  /// @param thread_id id of the thread
  /// @param key idempotency key of the effect; see tool_context::idempotency_key()
  /// @param record the record; nullopt erases it
  /// @throws checkpoint_error{conflict}, now or by check(), if another run has already recorded the
  /// start of the effect, which can be recorded only once
  virtual void put_effect(std::string_view thread_id, std::string_view key,
                          std::optional<effect_record> record);
  /// Deletes a thread with its subgraphs and effect records; does nothing if the thread does not
  /// exist. Does not wait for a run that holds the thread: this run fails with
  /// checkpoint_errc::conflict.
  virtual void delete_thread(std::string_view thread_id) = 0;
  /// Deletes the checkpoints, in all threads, whose metadata contains one of these ids as `run_id`,
  /// with their task records and the subgraphs that belong to them.
  /// @return the number of deleted checkpoints
  /// @throws checkpoint_error{in_use} if a run holds one of the threads; nothing is deleted then
  virtual std::size_t delete_runs(const std::vector<std::string>& run_ids) = 0;

  /// Calls `done` once all earlier writes to the thread are durable or have failed. The call comes
  /// from a thread of the implementation; `done` must return quickly and must not block.
  /// @return false if there is nothing to wait for; `done` is then not called
  [[nodiscard]] virtual bool when_saved(const thread_key&, std::function<void()> /*done*/) {
    return false;
  }
  /// Throws the checkpoint_error of an earlier write to the thread if it failed; otherwise does
  /// nothing.
  virtual void check(const thread_key&) {}

  /// Returns a thread and its subgraphs as text, which every checkpointer in every process can
  /// import; see docs/checkpoint-format.md, "Exported threads". Effect records are not exported.
  /// @throws checkpoint_error if there is no such thread
  [[nodiscard]] virtual std::string export_thread(std::string_view thread_id) = 0;
  /// Adds an exported thread under a new id.
  /// @param thread_id id of the new thread
  /// @param bytes text from export_thread() or cut_thread()
  /// @throws checkpoint_error if a thread with the id exists, or the bytes are damaged, incomplete
  /// or of a newer format; nothing is then imported
  virtual void import_thread(std::string_view thread_id, std::string_view bytes) = 0;

  /// Acquires the lease on a thread and its subgraphs for one run. The second parameter selects the
  /// behaviour if another run holds the lease.
  ///
  /// Leases do not protect against processes that do not use them. Therefore, if other processes
  /// can write to the storage, every put() also checks that the newest stored checkpoint is the
  /// newest one that the run knows, and fails with checkpoint_errc::conflict otherwise.
  /// @param done receives the lease, or the error checkpoint_errc::in_use. Implementations without
  ///   leases, such as the default, pass null. Called before take() returns, or later by the thread
  ///   that returns the lease
  virtual void take(const std::string& /*thread_id*/, busy_policy,
                    std::function<void(result<lease_ptr>)> done) {
    done(lease_ptr{});
  }

  // Inspection and maintenance. By default these functions are not supported: they throw
  // checkpoint_error{failed}.

  /// Returns threads sorted by id. A thread whose first checkpoint is not durable yet may be
  /// missing.
  /// @param after only ids greater than this one; empty for all
  /// @param limit maximum number
  [[nodiscard]] virtual std::vector<thread_summary> threads(std::string_view after = {},
                                                            std::size_t limit = 100);
  /// Returns a checkpoint as JSON, without the graph that defines its types. Members: `thread`,
  /// `ns`, `id`, `parent`, `source`, `step`, `graph`, `metadata`, `values`, `next` (node names) and
  /// `tasks` (stored records, in memory one per task; see docs/checkpoint-format.md).
  /// @param id id of the checkpoint; empty for the newest
  /// @return the checkpoint; nullopt if there is no such checkpoint
  [[nodiscard]] virtual std::optional<json::object> show(const thread_key&,
                                                         std::string_view id = {});
  /// Returns the selected checkpoints in the form of show() without `values` and `tasks`, newest
  /// first. A damaged checkpoint has the members `thread`, `ns`, `id` and `error` (a text) only.
  [[nodiscard]] virtual std::vector<json::object> history(const thread_key&,
                                                          const checkpoint_query&);
  /// Deletes old checkpoints of threads and their subgraphs. All remaining checkpoints
  /// can be resumed as before: pending interrupts belong to the newest checkpoint, and a row that
  /// is a delta to a deleted row is first rewritten as a whole row. An SQLite file does not shrink;
  /// SQLite reuses the space. Does not wait for runs: the run of a thread that is deleted fails
  /// with checkpoint_errc::conflict. If a prune of all threads fails, some of them may be pruned
  /// already.
  /// @return the number of deleted checkpoints
  virtual std::size_t prune(const prune_options&);
};

/// A mixin for exceptions that choose the class name stored with a thread. For exceptions without
/// it, the demangled C++ type name is stored. Derive from it in addition to the exception class.
class named_exception {
public:
  named_exception() = default;
  /// Copies the exception; exceptions must be copyable.
  named_exception(const named_exception&) = default;
  /// Copies the exception.
  named_exception& operator=(const named_exception&) = default;
  virtual ~named_exception() = default;
  /// Returns the name to store; it must stay valid as long as the exception.
  [[nodiscard]] virtual std::string_view error_class() const noexcept = 0;
};

/// An exception that was read from storage. It replaces the exception that a task threw in another
/// run or process. It has the original text and class name, and its nested exceptions are restored
/// too.
class restored_error : public std::runtime_error, public named_exception {
public:
  /// @param type class name of the original exception; see class_of()
  /// @param text what() of the original exception
  restored_error(std::string type, const std::string& text)
      : runtime_error{text}, type_{std::move(type)} {}
  [[nodiscard]] std::string_view error_class() const noexcept override { return type_; }

private:
  std::string type_;
};

/// A restored std::system_error. Used if the error category can be restored (see
/// graph_layout::error_categories); otherwise the exception is restored as restored_error.
class restored_system_error : public std::system_error, public named_exception {
public:
  /// @param code code of the original exception
  /// @param type class name of the original exception; see class_of()
  /// @param text what() of the original exception, which replaces that of std::system_error
  restored_system_error(std::error_code code, std::string type, std::string text)
      : system_error{code}, type_{std::move(type)}, text_{std::move(text)} {}
  /// Returns the text of the original exception.
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
  [[nodiscard]] std::string_view error_class() const noexcept override { return type_; }

private:
  std::string type_;
  std::string text_;
};

/// Returns the class name that is stored for an exception: error_class() of a named_exception, else
/// the demangled C++ type name. Empty for null and for types not derived from std::exception. May
/// be called from any thread.
[[nodiscard]] std::string class_of(const std::exception_ptr&);

} // namespace superstep

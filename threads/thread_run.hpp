// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/step.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/store.hpp>
#include <superstep/checkpoint/write_cache.hpp>
#include <superstep/runtime/detail/run_input.hpp>
#include <superstep/runtime/run_config.hpp>

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep {

/// The resume values that a caller has passed, for the tasks of the run and of its nested runs.
/// @par Threads
/// All members may be called from any thread.
class given_answers {
public:
  given_answers(std::optional<json::value> any, std::map<std::string, json::value> by_id)
      : any_{std::move(any)}, by_id_{std::move(by_id)} {}
  /// Returns the resume value of an interrupt; empty if there is none. A value without an id goes
  /// to the first interrupt that asks for one.
  [[nodiscard]] std::optional<json::value> take(const std::string& interrupt_id);

private:
  std::mutex mutex_;
  std::optional<json::value> any_;
  const std::map<std::string, json::value> by_id_;
};

/// The starting point of nested graphs in a run that starts from an older checkpoint. The first
/// call of each nested graph starts from the state that it had before that checkpoint. Shared by
/// all nested runs; used by one lane.
class time_travel {
public:
  explicit time_travel(std::string before) : before_{std::move(before)} {}
  /// First calls load only checkpoints with ids less than this one.
  [[nodiscard]] const std::string& before() const noexcept { return before_; }
  /// Records a call of the nested graph with the namespace `ns`. Returns whether it is the first.
  [[nodiscard]] bool is_first_call(const std::string& ns) { return called_.insert(ns).second; }

private:
  std::string before_;
  std::set<std::string> called_;
};

/// Returns the entries of a configuration that are stored with the checkpoints of a run or an edit,
/// like get_checkpoint_metadata() in langgraph/checkpoint/base; null if there are none. If
/// `metadata` and `configurable` have the same key, the value in `metadata` is stored.
[[nodiscard]] std::shared_ptr<const json::object> stored_entries(const run_config& config);

class thread_run;

/// The data that a nested run inherits from the run whose task started it.
struct nesting {
  std::vector<std::string> path; ///< the nodes that lead to this run
  std::string ns;                ///< the namespace of its checkpoints; see thread_key
  std::string id_prefix; ///< the prefix of its checkpoint ids: the id of the parent's checkpoint
  std::shared_ptr<superstep::checkpointer> checkpointer; ///< null: the run has no checkpoints
  detail::effect_journal journal; ///< stores effect records, also if the run has no checkpoints
  /// the thread of the run above, which holds the lease or passes it on from above; null if the run
  /// above has none. It exists at least as long as the nested run.
  const thread_run* thread_above = nullptr;
  /// persistence::per_thread: it starts from the state that its last call left
  bool is_persistent = false;
  /// the parent runs its step again, so the nested run continues from its own checkpoint
  bool must_resume = false;
  std::shared_ptr<time_travel> travel; ///< set if the outermost run starts from an older checkpoint
  std::shared_ptr<given_answers> answers;
  std::shared_ptr<superstep::store> memory;
  std::shared_ptr<write_cache> cache;
};

/// The part of a run that exists only if the run has a thread in LangGraph's sense: a conversation
/// whose checkpoints are saved under a thread_id. It holds the current checkpoint and the records
/// of the tasks that ran since, and saves both with the checkpointer. Used by the run's lane.
class thread_run {
public:
  /// @param checkpointer null for a run that is not saved; such a run has a thread_run only if its
  /// input is a command or empty
  thread_run(std::shared_ptr<superstep::checkpointer> checkpointer, thread_key key,
             durability when);

  /// Stores the lease, which is the right to write to the thread.
  void hold(lease_ptr lease) noexcept {
    SUPERSTEP_ASSERT(lease_ == nullptr);
    lease_ = std::move(lease);
  }
  /// Returns the journal for effect records of the run's tasks.
  [[nodiscard]] detail::effect_journal journal() const;
  /// Returns the lease, so that the caller may release it later.
  [[nodiscard]] lease_ptr give_up_lease() noexcept { return std::exchange(lease_, nullptr); }
  /// Loads the thread and applies the caller's input. Afterwards prepare() can create the first
  /// step.
  [[nodiscard]] result<void> open(run_state&, detail::run_input&&, const run_config&,
                                  const nesting*);
  /// Whether the run resumes the thread instead of starting from an input. Valid after open().
  [[nodiscard]] bool is_resuming() const noexcept { return is_resuming_; }
  /// Whether this is the first step of a resumed run. Nested graphs resume in that step as well.
  [[nodiscard]] bool is_first_step() const noexcept { return is_first_step_; }
  /// Set if the run, or the outermost run above it, starts from a specified older checkpoint.
  [[nodiscard]] const std::shared_ptr<time_travel>& travel() const noexcept { return travel_; }

  /// Saves a checkpoint of the run after a barrier.
  /// @param may_wait whether the calling thread may wait until the checkpoint is durable, because
  /// it has no other work
  void save(const run_state&, checkpoint_source, bool may_wait = false);
  /// Stores the record of a task of this step.
  void add_record(task_record);
  /// Returns the record of a task of this step, or null.
  [[nodiscard]] const task_record* find(std::string_view task) const;
  /// Ends the use of the thread: with exit durability, saves the last checkpoint and its records.
  /// @param ended_well whether the run has ended without an error or interrupt. Nothing is saved
  /// then, unless keep_anyway is set or the thread has a checkpoint from which the run started.
  /// @param keep_anyway whether later runs need the state; false only for nested runs that start
  /// empty
  void close(bool ended_well, bool keep_anyway);
  /// Checks whether everything passed to the checkpointer was saved. If not, failure() returns the
  /// error.
  void check();
  /// The error of the checkpointer, if it has failed; the run must then fail.
  [[nodiscard]] const std::optional<error>& failure() const noexcept { return failure_; }
  /// Returns the error of a run whose thread another run has taken over; nothing if none has.
  [[nodiscard]] std::optional<error> take_over() const;

  /// The current checkpoint; null before the first.
  [[nodiscard]] const checkpoint_ptr& at() const noexcept { return at_; }
  [[nodiscard]] const std::shared_ptr<superstep::checkpointer>& checkpointer() const noexcept {
    return checkpointer_;
  }
  [[nodiscard]] const thread_key& key() const noexcept { return key_; }
  /// Returns the caller's resume values for a task; null if it gets none. While tasks have pending
  /// interrupts, only these tasks get resume values.
  [[nodiscard]] std::shared_ptr<given_answers> answers_for(std::string_view task) const;
  [[nodiscard]] durability when() const noexcept { return when_; }
  /// Returns the key of a task: its path and the id of the current checkpoint. It is part of the
  /// namespaces of its subgraphs and of the ids of its interrupts.
  [[nodiscard]] std::string task_key(const std::string& path) const;

private:
  [[nodiscard]] result<void> load(run_state&, const run_config&, const nesting*);
  /// Returns the error of a run that resumes a thread without checkpoints.
  [[nodiscard]] error nothing_to_resume() const;
  /// @param forks whether the run starts a branch of the thread from an older checkpoint; the
  /// command's writes are then part of the branch's first checkpoint
  [[nodiscard]] result<void> take_command(run_state&, detail::thread_command&, bool forks);
  [[nodiscard]] bool goes_back(detail::run_input&, const run_config&) const;
  /// Whether the checkpoint that the run starts from was created by an edit of the state. @pre at()
  /// is set
  [[nodiscard]] bool is_edit() const noexcept;
  /// Returns the name of a node that a resumed run would continue at, but that is no longer in the
  /// graph; null if there is none.
  /// @param turns_back whether the run starts the step again, without the outputs of its tasks
  /// @pre at() is not null
  [[nodiscard]] const std::string* lost_node(bool turns_back) const;
  [[nodiscard]] bool is_open_to_several() const;
  [[nodiscard]] result<void> take_up(run_state&, detail::run_input&&, const run_config&,
                                     const nesting*);
  [[nodiscard]] std::size_t count_waiting() const noexcept;
  [[nodiscard]] const lease_ptr& lease() const noexcept;
  [[nodiscard]] bool may_write() const noexcept;
  void store(bool may_wait = false);
  template <class Call>
  void attempt(Call call);

  std::shared_ptr<superstep::checkpointer> checkpointer_;
  thread_key key_;
  durability when_;
  std::string id_prefix_;
  /// entries of the run's configuration that are stored in each of its checkpoints
  std::shared_ptr<const json::object> metadata_;
  checkpoint_ptr at_;
  std::vector<task_record> records_;
  record_index index_;      ///< the index of records_ by task
  std::size_t waiting_ = 0; ///< number of records_ whose tasks wait for resume values
  /// with exit durability: the records of at_ that close() saves
  std::vector<task_record> held_back_;
  std::shared_ptr<given_answers> answers_;
  /// id of the newest checkpoint of this run that was passed to the checkpointer
  std::string stored_;
  std::string last_id_; ///< the id that was generated last
  std::shared_ptr<time_travel> travel_;
  lease_ptr lease_;
  const thread_run* above_ = nullptr; ///< see nesting::thread_above
  std::optional<error> failure_;
  bool is_nested_ = false;
  bool is_resuming_ = false;
  bool is_first_step_ = false;
};

/// Returns the error of a run whose checkpointer threw `cause` in a call for the thread `key`.
[[nodiscard]] error checkpointer_failure(const thread_key& key, const std::exception_ptr& cause);

/// Returns the id of the checkpoint that follows `last`, the newest id of its namespace. It is
/// greater than `last`. In nested runs, `prefix` is the id of the parent's checkpoint with a dot,
/// so that ids show which checkpoint a nested one belongs to. If such an id would not be greater,
/// the id has the prefix of `last`.
[[nodiscard]] std::string next_checkpoint_id(std::string_view last, std::string_view prefix);

/// Returns the namespace of the checkpoints of a task's subgraph. `count` is the number of
/// subgraphs that the task has run before.
[[nodiscard]] std::string nested_namespace(std::string_view parent, persistence kept,
                                           std::string_view node, std::string_view task_key,
                                           std::uint32_t count);

/// Returns the id of the n-th interrupt of a task.
[[nodiscard]] std::string interrupt_id(std::string_view ns, std::string_view task_key,
                                       std::size_t question);
/// Whether a text has the form of interrupt_id().
[[nodiscard]] bool is_interrupt_id(std::string_view text) noexcept;

} // namespace superstep

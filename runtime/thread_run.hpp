// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/step.hpp"

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/store.hpp>
#include <superstep/checkpoint/write_cache.hpp>
#include <superstep/runtime/detail/run_input.hpp>
#include <superstep/runtime/run_config.hpp>

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

/// The resume values of a caller, for the tasks of its run and of the runs nested in it.
/// @par Threads
/// All members may be called from any thread.
class given_answers {
public:
  given_answers(std::optional<json::value> any, std::map<std::string, json::value> by_id)
      : any_{std::move(any)}, by_id_{std::move(by_id)} {}
  /// Takes the resume value of an interrupt. A value without an id goes to the first interrupt that
  /// asks for one.
  [[nodiscard]] std::optional<json::value> take(const std::string& interrupt_id);

private:
  std::mutex mutex_;
  std::optional<json::value> any_;
  const std::map<std::string, json::value> by_id_;
};

/// The bound that nested graphs share in a run that starts from an older checkpoint: the first call
/// of each starts from the state it had before that checkpoint. Used by one lane.
class time_travel {
public:
  explicit time_travel(std::string before) : before_{std::move(before)} {}
  /// First calls use only checkpoints with ids less than this one.
  [[nodiscard]] const std::string& before() const noexcept { return before_; }
  /// Whether this is the first call of a namespace.
  [[nodiscard]] bool is_first_call(const std::string& ns) { return called_.insert(ns).second; }

private:
  std::string before_;
  std::set<std::string> called_;
};

/// The relation of a nested run to the run whose task started it.
struct nesting {
  std::vector<std::string> path; ///< the nodes that lead to this run
  std::string ns;                ///< the namespace of its checkpoints; see thread_key
  std::string id_prefix; ///< the prefix of its checkpoint ids: the id of the parent's checkpoint
  std::shared_ptr<superstep::checkpointer> checkpointer; ///< null: the run has no checkpoints
  std::shared_ptr<superstep::checkpointer>
      journal;                ///< stores effect records, also if the run has no checkpoints
  bool is_persistent = false; ///< starts from the state that earlier calls left
  bool must_resume = false;   ///< the parent runs its step again
  std::shared_ptr<time_travel> travel; ///< set: the outermost run starts from an older checkpoint
  std::shared_ptr<given_answers> answers;
  std::shared_ptr<superstep::store> memory;
  std::shared_ptr<write_cache> cache;
};

/// The part of a run that exists only if the run has a thread: its current checkpoint, the records
/// of the tasks that follow it, and the checkpointer that stores both. Used by the run's lane.
class thread_run {
public:
  /// @param checkpointer null for a run that takes a command or continues, but is not saved
  thread_run(std::shared_ptr<superstep::checkpointer> checkpointer, thread_key key,
             durability when);

  /// Stores the lease, which is the right to write to the thread.
  void hold(lease_ptr lease) noexcept { lease_ = std::move(lease); }
  /// Returns the lease and gives it up.
  [[nodiscard]] lease_ptr give_up_lease() noexcept { return std::exchange(lease_, nullptr); }
  /// Loads the thread and takes the caller's input. After it the run is ready to be prepared.
  [[nodiscard]] result<void> open(run_state&, detail::run_input&&, const run_config&,
                                  const nesting*);
  /// After open(): whether the run resumes the thread instead of starting from an input.
  [[nodiscard]] bool is_resuming() const noexcept { return is_resuming_; }
  /// Whether the first step of a resumed run is running; nested graphs resume in that step as well.
  [[nodiscard]] bool is_first_step() const noexcept { return is_first_step_; }
  /// Set if the run, or the outermost run above it, starts from a specified older checkpoint.
  [[nodiscard]] const std::shared_ptr<time_travel>& travel() const noexcept { return travel_; }

  /// Saves a checkpoint of the run after a barrier.
  /// @param may_wait whether the calling thread has nothing else to do until it is durable
  void save(const run_state&, checkpoint_source, bool may_wait = false);
  /// Stores the record of a task of this step.
  void tell(task_record);
  /// Returns the record of a task of this step, or null.
  [[nodiscard]] const task_record* find(std::string_view task) const;
  /// Ends the run on the thread: saves what exit durability has held back.
  void close(bool ended_well, bool keep_anyway);
  /// Checks whether everything passed to the checkpointer was saved; see failure().
  void check();
  /// Set if the checkpointer failed; the run must fail then.
  [[nodiscard]] const std::optional<error>& failure() const noexcept { return failure_; }

  /// The current checkpoint; null before the first.
  [[nodiscard]] const checkpoint_ptr& at() const noexcept { return at_; }
  [[nodiscard]] const std::shared_ptr<superstep::checkpointer>& checkpointer() const noexcept {
    return checkpointer_;
  }
  [[nodiscard]] const thread_key& key() const noexcept { return key_; }
  /// Returns the caller's resume values for a task. Tasks with a pending interrupt take theirs
  /// before other tasks.
  [[nodiscard]] std::shared_ptr<given_answers> answers_for(std::string_view task) const;
  [[nodiscard]] durability when() const noexcept { return when_; }
  /// Returns the key of a task of this step, which is part of its subgraphs' namespaces and of ids.
  [[nodiscard]] std::string task_key(const std::string& path) const;

private:
  [[nodiscard]] result<void> load(run_state&, const run_config&, const nesting*);
  /// @param forks whether the run starts a branch of the thread, to which the command writes
  [[nodiscard]] result<void> take_command(detail::thread_command&, bool forks);
  [[nodiscard]] bool goes_back(detail::run_input&, const run_config&) const;
  /// Whether the checkpoint that the run starts from is an edit. @pre at()
  [[nodiscard]] bool is_edit() const noexcept;
  [[nodiscard]] result<void> take_up(run_state&, detail::run_input&&, const run_config&,
                                     const nesting*);
  [[nodiscard]] error failed_checkpointer(const std::exception_ptr& cause) const;
  void store(bool may_wait = false);
  template <class Call>
  void attempt(Call call);

  std::shared_ptr<superstep::checkpointer> checkpointer_;
  thread_key key_;
  durability when_;
  std::string id_prefix_;
  std::shared_ptr<const json::object> metadata_; ///< added to all its checkpoints
  checkpoint_ptr at_;
  std::vector<task_record> records_;
  record_index index_;                 ///< of records_
  std::vector<task_record> held_back_; ///< with exit durability: records that close() adds to at_
  std::shared_ptr<given_answers> answers_;
  std::string stored_;  ///< the newest checkpoint of this run that the checkpointer has
  std::string last_id_; ///< the id that was generated last
  std::shared_ptr<time_travel> travel_;
  lease_ptr lease_;
  std::optional<error> failure_;
  bool is_nested_ = false;
  bool is_resuming_ = false;
  bool is_first_step_ = false;
};

/// Returns the id that follows `last`, the newest of its namespace. A prefix puts it below a
/// parent's checkpoint.
[[nodiscard]] std::string next_checkpoint_id(std::string_view last, std::string_view prefix);

/// Returns the namespace of a subgraph's checkpoints, for the count-th subgraph (from 0) of a task.
[[nodiscard]] std::string nested_namespace(std::string_view parent, persistence kept,
                                           std::string_view node, std::string_view task_key,
                                           std::uint32_t count);

/// Returns the id of the n-th interrupt of a task.
[[nodiscard]] std::string interrupt_id(std::string_view ns, std::string_view task_key,
                                       std::size_t question);

} // namespace superstep

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

/// Answers that a caller gave, for the tasks of its run and of the runs nested in it.
/// @par Threads
/// All members may be called from any thread.
class given_answers {
public:
  given_answers(std::optional<json::value> any, std::map<std::string, json::value> by_id)
      : any_{std::move(any)}, by_id_{std::move(by_id)} {}
  /// The answer to a question; one that names no question goes to the first that asks.
  [[nodiscard]] std::optional<json::value> take(const std::string& interrupt_id);

private:
  std::mutex mutex_;
  std::optional<json::value> any_;
  const std::map<std::string, json::value> by_id_;
};

/// The bound that the graphs below a run that goes back in time share: the first call of each starts
/// from the state it had before that checkpoint. Used by one lane.
class time_travel {
public:
  explicit time_travel(std::string before) : before_{std::move(before)} {}
  /// Only checkpoints with ids less than this one count in first calls.
  [[nodiscard]] const std::string& before() const noexcept { return before_; }
  /// Whether this is the first call of a namespace.
  [[nodiscard]] bool is_first_call(const std::string& ns) { return called_.insert(ns).second; }

private:
  std::string before_;
  std::set<std::string> called_;
};

/// How a run hangs below the run whose task started it.
struct nesting {
  std::vector<std::string> path;  ///< the nodes that lead here
  std::string ns;                 ///< of its checkpoints; see thread_key
  std::string id_prefix;          ///< its checkpoints come after this id of the parent's
  std::shared_ptr<superstep::checkpointer> checkpointer; ///< null: keeps nothing
  std::shared_ptr<superstep::checkpointer>
      journal;                    ///< of effects, whether it keeps anything itself or not
  bool is_persistent = false;     ///< goes on with what earlier calls left
  bool must_resume = false;       ///< the parent's step is run once more
  std::shared_ptr<time_travel> travel; ///< set: the outermost run goes back in time
  std::shared_ptr<given_answers> answers;
  std::shared_ptr<superstep::store> memory;
  std::shared_ptr<write_cache> cache;
};

/// The part of a run that exists only on a thread: its current checkpoint, the records of the tasks
/// that follow it, and the checkpointer that stores both.
class thread_run {
public:
  /// @param checkpointer null: a run that only takes a command or nothing and is not kept
  thread_run(std::shared_ptr<superstep::checkpointer> checkpointer, thread_key key,
             durability when);

  /// The right to write to the thread, until it is given up.
  void hold(lease_ptr lease) noexcept { lease_ = std::move(lease); }
  [[nodiscard]] lease_ptr give_up_lease() noexcept { return std::exchange(lease_, nullptr); }
  /// Loads the thread and takes what the caller says. Afterwards the run is ready to be prepared.
  [[nodiscard]] result<void> open(run_state&, detail::run_input&&, const run_config&,
                                  const nesting*);
  /// After open(): the thread goes on instead of starting over.
  [[nodiscard]] bool is_resuming() const noexcept { return is_resuming_; }
  /// Set while the first step of a run that goes on is run: subgraphs go on, too.
  [[nodiscard]] bool is_first_step() const noexcept { return is_first_step_; }
  /// Set if the run, or the outermost one above it, goes back to a checkpoint that was specified.
  [[nodiscard]] const std::shared_ptr<time_travel>& travel() const noexcept { return travel_; }

  /// After a barrier: a checkpoint of where the run stands now.
  /// @param may_wait the calling thread has nothing else to do until it is durable
  void save(const run_state&, checkpoint_source, bool may_wait = false);
  /// What has become known of a task of this step.
  void tell(task_record);
  [[nodiscard]] const task_record* find(std::string_view task) const;
  /// The run ends; what was held back until then is saved.
  void close(bool ended_well, bool keep_anyway);
  /// Asks the checkpointer whether all that was given to it was saved; see failure().
  void check();
  /// Set: the checkpointer refused something, and the run must fail.
  [[nodiscard]] const std::optional<error>& failure() const noexcept { return failure_; }

  [[nodiscard]] const checkpoint_ptr& at() const noexcept { return at_; }
  [[nodiscard]] const std::shared_ptr<superstep::checkpointer>& checkpointer() const noexcept {
    return checkpointer_;
  }
  [[nodiscard]] const thread_key& key() const noexcept { return key_; }
  /// The caller's answers for a task: those that wait for one get it before any other.
  [[nodiscard]] std::shared_ptr<given_answers> answers_for(std::string_view task) const;
  [[nodiscard]] durability when() const noexcept { return when_; }
  /// What names a task of this step in the namespaces of its subgraphs and in ids.
  [[nodiscard]] std::string task_key(const std::string& path) const;

private:
  [[nodiscard]] result<void> load(run_state&, const run_config&, const nesting*);
  /// @param forks the run begins a branch of the thread, which holds what the command writes
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
  std::shared_ptr<const json::object> metadata_; ///< of all its checkpoints
  checkpoint_ptr at_;
  std::vector<task_record> records_;
  record_index index_; ///< of records_
  std::vector<task_record> held_back_; ///< with exit durability: what close() adds to at_
  std::shared_ptr<given_answers> answers_;
  std::string stored_;  ///< the newest checkpoint of ours that the checkpointer has
  std::string last_id_; ///< drawn last
  std::shared_ptr<time_travel> travel_;
  lease_ptr lease_;
  std::optional<error> failure_;
  bool is_nested_ = false;
  bool is_resuming_ = false;
  bool is_first_step_ = false;
};

/// The id after `last`, the newest of its namespace. With a prefix: below a parent's checkpoint.
[[nodiscard]] std::string next_checkpoint_id(std::string_view last, std::string_view prefix);

/// The namespace of a subgraph's checkpoints, as the count-th one (from 0) of its task.
[[nodiscard]] std::string nested_namespace(std::string_view parent, persistence kept,
                                           std::string_view node, std::string_view task_key,
                                           std::uint32_t count);

/// The id of the n-th question of a task.
[[nodiscard]] std::string interrupt_id(std::string_view ns, std::string_view task_key,
                                       std::size_t question);

} // namespace superstep

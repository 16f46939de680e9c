// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/optional_box.hpp>
#include <superstep/base/detail/short_list.hpp>
#include <superstep/base/detail/thin_list.hpp>
#include <superstep/channels/detail/named_barrier_value.hpp>
#include <superstep/runtime/detail/program.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace superstep {

// The super-step. Its tasks run at the same time and read the same state. At the barrier, when all
// tasks have ended, their outputs are applied together; if that fails, the state stays as it was.
// The functions below are pure: they use no threads, no I/O and no clock.
//
//     begin ─► (bodies run, in any order: record) ─► apply ─► prepare ─► (bodies run) ─► …
//     … ─► prepare finds no task: the run has ended
//
// The engine's lanes call them, and so does the seeded scheduler of the tests. The rules are those
// of prepare_next_tasks() and apply_writes() in langgraph/pregel/_algo.py; docs/super-step.md
// describes them.

/// The part of a buffer of super_step that holds one task's writes, targets or Sends.
struct range {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

/// One task of a super-step: a node that was triggered by edges ("pull"), or one Send ("push").
struct step_task {
  static constexpr std::uint32_t pull = ~std::uint32_t{0};
  std::uint32_t node = 0;
  /// index in super_step::inputs; `pull` if no Send created the task
  std::uint32_t push_index = pull;
  range writes;
  range targets;
  range sends;
  std::uint32_t attempt = 1; ///< number of the current or last attempt, from 1; set by the engine
  std::uint8_t causes = 0;   ///< trigger_cause bits of a pull task
  /// the task's output is already known, so the task does not run; set by the engine
  bool is_known = false;
  /// The node that failed, if `node` is its error handler; otherwise `pull`.
  std::uint32_t failed_node = pull;
  /// Whether a Send created the task.
  [[nodiscard]] bool is_push() const noexcept { return push_index != pull; }
  /// The node that was triggered or that the Send names, even if its error handler runs instead.
  [[nodiscard]] std::uint32_t origin() const noexcept {
    return failed_node == pull ? node : failed_node;
  }
};

/// The input of a run with a thread, which START writes in the next step.
struct start_input {
  write_list writes;
  std::vector<std::uint32_t> targets; ///< the nodes to trigger in addition to the entry's edges
};

/// The Sends of the push tasks of a step. The step shares them with the bodies that read them.
struct step_inputs : boost::intrusive_ref_counter<step_inputs, boost::thread_safe_counter> {
  detail::thin_list<send> sends;
};
using step_inputs_ptr = boost::intrusive_ptr<step_inputs>;

/// The tasks of one super-step and their outputs. The buffers keep their capacity from step to
/// step.
struct super_step {
  detail::thin_list<step_task> tasks;
  /// The inputs of the push tasks. Abandoned bodies may still read theirs and share the object; the
  /// next step then allocates a new one.
  step_inputs_ptr inputs{new step_inputs};
  /// numbers of the tasks that have ended, in the order of their ends
  detail::thin_list<std::uint32_t> finished;
  write_list writes;
  detail::thin_list<std::uint32_t> targets;
  detail::thin_list<send> sends;
  /// The next state, if a router has already computed it; see node_output::adopted.
  state_ptr adopted;
  detail::thin_list<std::uint32_t> adopted_changes;
  optional_box<start_input> input; ///< the input of START in a run with a thread

  /// Returns the input of a push task.
  [[nodiscard]] const send& input_of(const step_task& t) const noexcept {
    return inputs->sends[t.push_index];
  }
  /// Empties the step; keeps the capacity of its buffers.
  void clear();
  /// Destroys the inputs, writes and Sends of the tasks, which nothing needs after apply(). Keeps
  /// inputs that an abandoned body may still read, the tasks, and the capacity of the buffers.
  void drop_values();
  /// Frees the buffers that are empty, because the run waits.
  void trim() noexcept;
  /// Moves the output of a task that has ended into the step and leaves `output` empty. Tasks may
  /// end in any order.
  /// @pre the task was not recorded before, and !output.to_parent
  void record(std::uint32_t task, node_output&& output);
  /// Records the output that a task had in an earlier attempt at this step.
  void record(std::uint32_t task, const task_output& output);
  /// Returns a copy of the output of a task that has ended.
  [[nodiscard]] task_output output_of(const step_task&) const;
};

/// The result of prepare(): the step has tasks, the run has ended, or the recursion limit is
/// reached.
enum class next_step : std::uint8_t { run, done, out_of_steps };

/// The position of one run between two super-steps: the state and what is pending (triggered nodes,
/// joins, Sends). Only the run's lane uses it.
class run_state {
public:
  run_state() = default;
  /// Sets the initial position of a new run of a program. Keeps the capacity of buffers.
  void reset(detail::program_ptr table, const id_source& ids, std::uint32_t recursion_limit);
  /// See id_source::number().
  [[nodiscard]] std::uint64_t id_number() noexcept { return ids_.number(); }
  /// Sets the position to that of a checkpoint of the same program; null starts a new thread. From
  /// then on the data that checkpoints need is tracked. Called after reset().
  void restore(const checkpoint* from);
  /// Returns the position as a checkpoint stores it. @pre restore() was called
  [[nodiscard]] position where() const;
  /// Releases the state and the program. Keeps the capacity of buffers.
  void clear() noexcept;
  /// Frees the buffers that are empty between two barriers, because the run waits.
  void trim() noexcept;
  /// Returns a position with the same state and step number, but with nothing pending. The run uses
  /// this copy while another thread applies a step to the original.
  [[nodiscard]] run_state stand_in() const;

  [[nodiscard]] const detail::program& table() const noexcept { return *table_; }
  [[nodiscard]] const detail::program_ptr& table_ptr() const noexcept { return table_; }
  [[nodiscard]] const state_ptr& state() const noexcept { return state_; }
  [[nodiscard]] state_ptr take_state() noexcept { return std::move(state_); }
  /// The number of the super-step that prepare() created last; the first nodes run in step 1.
  [[nodiscard]] std::int64_t step() const noexcept { return step_; }
  /// The channels that the last apply() changed, without duplicates.
  /// May be empty while a body of the next step waits.
  [[nodiscard]] std::span<const std::uint32_t> changes() const noexcept { return changes_; }
  /// The number of super-steps that may still be prepared before the recursion limit.
  [[nodiscard]] std::int64_t steps_left() const noexcept { return stop_ - step_; }

  /// Discards the pending tasks. In the next step START writes this input; the Sends of a command
  /// run in the step after that.
  void accept_input(write_list input, std::vector<std::uint32_t> targets,
                    std::span<const send> sends);
  /// Discards the pending input, pending Sends and the triggers of edges and branches, as an edit
  /// of the state does.
  void drop_pending() noexcept;
  /// Applies the writes, targets and Sends of a command that the caller of the run has passed,
  /// between two steps.
  [[nodiscard]] result<void> apply_command(const task_output&);
  /// Applies writes that no task has made as one update, after the tasks of the step, and consumes
  /// them. Adds the channels that have changed to changes(). If it fails or throws what copying a
  /// value throws, the state is as it was before.
  [[nodiscard]] result<void> apply_outside(std::span<write> from_outside);
  /// Returns the node that ran last; no_node if that was START or no node has run. Empty if several
  /// nodes ran in the last step.
  [[nodiscard]] std::optional<std::uint32_t> last_node() const;
  /// Changes the step number for an edit, which is counted as a step without prepare().
  void count_step(int by = 1) noexcept { step_ += by; }

private:
  friend result<void> begin(run_state&, super_step&, std::span<write>);
  friend next_step prepare(run_state&, super_step&);
  friend result<void> apply(run_state&, super_step&);
  friend result<void> apply_edit(run_state&, super_step&);
  friend result<void> apply_unfinished(run_state&, super_step&);

  result<void> apply_writes(super_step&);
  [[nodiscard]] result<void> apply_ordered();
  result<void> apply_tasks(super_step&, bool may_repeat_ids = false);
  [[nodiscard]] state_ptr hold_for_emptying();
  void end_transients(state_ptr backup);
  void trigger(std::uint32_t node, trigger_cause cause);
  void follow(const detail::node_entry&);
  void consume_joins(std::uint32_t node);
  void note_seen(std::uint32_t node, std::uint8_t causes);
  void keep_trigger(std::uint32_t node, std::uint8_t causes);

  detail::program_ptr table_;
  state_ptr state_;
  detail::short_list<std::uint8_t, 8> causes_; // trigger_cause bits by node; 0: not triggered
  detail::thin_list<std::uint32_t> triggered_; // the triggered nodes, in no order
  // triggered nodes with node_options::defer, which wait until no other node is triggered
  detail::thin_list<std::uint32_t> deferred_;
  detail::thin_list<named_barrier_value> joins_;
  detail::thin_list<send> sends_; // pending Sends; they become tasks of the next step
  detail::thin_list<std::uint32_t> changes_;
  detail::thin_list<write*> ordered_; // a buffer of apply(), kept for its capacity
  std::int64_t step_ = -1;
  std::int64_t stop_ = 0;
  [[no_unique_address]] id_source ids_{""}; // the next member fits behind its last one
  // `changes_` holds the changes of begin(), and the next apply() adds to them
  bool keep_changes_ = false;
  bool sends_follow_start_ = false; // START is the only task of the next step
  // Used only by runs with a thread.
  optional_box<start_input> input_;
  std::unique_ptr<seen_versions> versions_;
};

/// Creates step 0: writes the input to its channels. The step's only task is the hidden entry
/// (program::no_node). Its routers choose the first nodes, and apply() fires its edges.
[[nodiscard]] result<void> begin(run_state&, super_step&, std::span<write> input);

/// Creates the tasks of the next step: pending Sends in order, then triggered nodes by name. At the
/// recursion limit (next_step::out_of_steps) the tasks are those that would have run.
[[nodiscard]] next_step prepare(run_state&, super_step&);

/// Applies the outputs of the tasks at the barrier, then fires edges, joins, targets and Sends. The
/// order is that of the task paths (nodes by name, then Sends by index) and never the order in
/// which the tasks ended. If it fails, the state is as it was before. Tasks without a recorded
/// output, such as interrupted ones, count as having written nothing.
[[nodiscard]] result<void> apply(run_state&, super_step&);

/// Applies an edit of the state. The edit is a step whose nodes do not count as having run.
[[nodiscard]] result<void> apply_edit(run_state&, super_step&);

/// Ends a step some of whose tasks have not ended. All its tasks count as having run, and those
/// without a recorded output as having written nothing. Does nothing if the step has no tasks.
[[nodiscard]] result<void> apply_unfinished(run_state&, super_step&);

/// Returns the first part of the ids that a run makes: its run_id, or its thread_id if the run_id
/// is empty. In nested runs, their namespace follows. A reference into `config`.
[[nodiscard]] const std::string& id_key_of(const run_config& config) noexcept;

/// Applies writes, given in task order, to the state that a router will see: groups them by channel
/// and updates each channel once. Appends the changed channels to `changes`. Does not undo
/// anything: after an error the state must not be used.
[[nodiscard]] result<void> apply_in_order(const detail::program&, state_block&, std::span<write*>,
                                          id_source&, detail::thin_list<std::uint32_t>& changes);

} // namespace superstep

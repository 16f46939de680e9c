// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/channels/detail/named_barrier_value.hpp>
#include <superstep/runtime/detail/program.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace superstep {

// The super-step as pure functions over a run's state: no threads, no I/O, no clock.
//
//     begin ─► (bodies run, in any order: record) ─► apply ─► prepare ─► (bodies run) ─► …
//     … ─► prepare finds no task: the run has ended
//
// The engine's lanes drive them, and so does the seeded scheduler of the tests. docs/super-step.md
// describes the rules. They are those of prepare_next_tasks() and apply_writes() in
// langgraph/pregel/_algo.py.

/// The part of a step's buffer that holds the output of one task.
struct range {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

/// One activation of a super-step: a node triggered by edges ("pull") or a Send ("push").
struct step_task {
  static constexpr std::uint32_t pull = ~std::uint32_t{0};
  std::uint32_t node = 0;
  std::uint32_t push_index = pull; ///< position among the step's Sends
  range writes;
  range targets;
  range sends;
  std::uint32_t attempt = 1; ///< set by the engine: the number of the current or last attempt
  std::uint8_t causes = 0;   ///< trigger_cause bits of a pull task
  /// set by the engine: the output is already known, so the task does not run
  bool is_known = false;
  /// If `node` is an error handler: the node that failed.
  std::uint32_t failed_node = pull;
  /// Whether a Send created the task.
  [[nodiscard]] bool is_push() const noexcept { return push_index != pull; }
  /// The node that was triggered or that the Send names, also if its error handler runs.
  [[nodiscard]] std::uint32_t origin() const noexcept {
    return failed_node == pull ? node : failed_node;
  }
};

/// The tasks of one super-step and their outputs. Buffers keep their capacity from step to step.
struct super_step {
  std::vector<step_task> tasks;
  /// The Sends of the push tasks, by push_index. Shared with discarded bodies that may still read
  /// their input; the next step then allocates a new vector.
  std::shared_ptr<std::vector<send>> inputs = std::make_shared<std::vector<send>>();
  std::vector<std::uint32_t> finished; ///< numbers of tasks, in the order in which they ended
  write_list writes;
  std::vector<std::uint32_t> targets;
  std::vector<send> sends;
  state_ptr adopted; ///< see node_output::adopted
  std::vector<std::uint32_t> adopted_changes;
  /// The writes of a thread's START task, and its targets in addition to the entry's edges.
  std::optional<write_list> input;
  std::vector<std::uint32_t> input_targets;

  /// Empties the step; keeps the capacity of its buffers.
  void clear();
  /// Moves the output of a task that has ended into the step and leaves `output` empty. Tasks may
  /// end in any order, each once. @pre !output.to_parent
  void record(std::uint32_t task, node_output&& output);
  /// Records the output that a task had in an earlier attempt at this step.
  void record(std::uint32_t task, const task_output& output);
  /// Returns a copy of the output of a task that has ended.
  [[nodiscard]] task_output output_of(const step_task&) const;
};

/// The result of prepare(): tasks to run, nothing left to run, or the recursion limit reached.
enum class next_step : std::uint8_t { run, done, out_of_steps };

/// The position of one run between two super-steps. Plain data, owned by the run's coordinator.
class run_state {
public:
  run_state() = default;
  /// Starts a new run of a program. Keeps the capacity of buffers.
  void reset(detail::program_ptr table, std::string run_id, std::uint32_t recursion_limit);
  /// After reset(): continues from a checkpoint of the same program, and keeps track of the data
  /// that the next checkpoint needs. A null checkpoint starts a new thread.
  void restore(const checkpoint* from);
  /// Returns the position in the form that checkpoints have. @pre restore() was called
  [[nodiscard]] position where() const;
  /// Releases the state and the program. Keeps the capacity of buffers.
  void clear() noexcept;

  [[nodiscard]] const detail::program& table() const noexcept { return *table_; }
  [[nodiscard]] const detail::program_ptr& table_ptr() const noexcept { return table_; }
  [[nodiscard]] const state_ptr& state() const noexcept { return state_; }
  [[nodiscard]] state_ptr take_state() noexcept { return std::move(state_); }
  /// The number of the super-step that prepare() made last; 1 for the first nodes.
  [[nodiscard]] std::int64_t step() const noexcept { return step_; }
  /// Channels changed by the last apply(), each once.
  [[nodiscard]] std::span<const std::uint32_t> changes() const noexcept { return changes_; }
  /// The number of super-steps that may still be prepared before the recursion limit.
  [[nodiscard]] std::int64_t steps_left() const noexcept { return stop_ - step_; }

  /// Discards what is pending and lets START write this input in the next step.
  void accept_input(write_list input, std::vector<std::uint32_t> targets);
  /// Discards what an edit of the state discards: pending Sends, and triggers of edges and
  /// branches.
  void drop_pending() noexcept;
  /// Applies the writes, targets and Sends of a caller's command, between two steps.
  [[nodiscard]] result<void> apply_command(const task_output&);
  /// Returns the node that ran last, or no_node if it was START or no node has run. Empty if
  /// several nodes ran in the last step.
  [[nodiscard]] std::optional<std::uint32_t> last_node() const;
  /// Adds to the step number for a step that was not prepared; a negative value subtracts.
  void count_step(int by = 1) noexcept { step_ += by; }

private:
  friend result<void> begin(run_state&, super_step&, std::span<write>);
  friend next_step prepare(run_state&, super_step&);
  friend result<void> apply(run_state&, super_step&);
  friend result<void> apply_edit(run_state&, super_step&);

  result<void> apply_writes(super_step&);
  [[nodiscard]] result<void> apply_ordered();
  result<void> apply_tasks(super_step&);
  [[nodiscard]] state_ptr held_for_emptying() const;
  void end_transients(state_ptr before);
  void trigger(std::uint32_t node, trigger_cause cause);
  void follow(const detail::node_entry&);
  void consume_joins(std::uint32_t node);
  void note_seen(std::uint32_t node, std::uint8_t causes);

  detail::program_ptr table_;
  state_ptr state_;
  std::vector<std::uint8_t> causes_;     // trigger_cause bits by node; 0: not triggered
  std::vector<std::uint32_t> triggered_; // nodes, unordered
  std::vector<std::uint32_t> deferred_;  // triggered as well, but delayed until no other node is
  std::vector<named_barrier_value> joins_;
  std::vector<send> sends_; // for the next step
  std::vector<std::uint32_t> changes_;
  std::vector<write*> ordered_; // scratch of apply
  std::int64_t step_ = -1;
  std::int64_t stop_ = 0;
  bool keep_changes_ = false; // begin() applied the input; its changes count for step 0
  id_source ids_{{}};
  // Used only by runs on a thread.
  std::optional<write_list> input_;
  std::vector<std::uint32_t> input_targets_;
  std::unique_ptr<seen_versions> versions_;
};

/// Makes step 0: writes the input to its channels. The hidden entry (program::no_node) becomes the
/// step's only task; its routers choose the first nodes, and apply() fires its edges.
[[nodiscard]] result<void> begin(run_state&, super_step&, std::span<write> input);

/// Makes the tasks of the next step: pending Sends in order, then triggered nodes by name. At the
/// recursion limit (next_step::out_of_steps) the tasks are those that would have run.
[[nodiscard]] next_step prepare(run_state&, super_step&);

/// Applies the outputs of the tasks at the barrier. The order is that of the task paths (nodes by
/// name, then Sends by index), never the order in which the tasks ended. Fires edges, joins,
/// targets and Sends. On an error the state is as it was before. Tasks that were not recorded
/// (those that were interrupted) count as having run without writes.
[[nodiscard]] result<void> apply(run_state&, super_step&);

/// Applies an edit of the state: a step of one task whose node does not count as having run.
[[nodiscard]] result<void> apply_edit(run_state&, super_step&);

/// Applies writes, given in task order, to a state: groups them by channel and updates each channel
/// once. Appends the changed channels to `changes`. After an error the state must not be used. For
/// the state that routers see.
[[nodiscard]] result<void> apply_in_order(const detail::program&, state_block&, std::span<write*>,
                                          id_source&, std::vector<std::uint32_t>& changes);

} // namespace superstep

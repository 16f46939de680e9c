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
//   begin ─► (bodies run, in any order: record) ─► apply ─► prepare ─► (bodies run) ─► … ─► nothing
//   left
//
// The engine's coordinator drives them, and so does the seeded scheduler of the tests.
// Rules: docs/super-step.md; source of the rules: the reference's prepare_next_tasks/apply_writes.

/// Where one task's output stands in the buffers of its step.
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
  std::uint32_t attempt = 1; ///< of the engine: which one runs or ran last
  std::uint8_t causes = 0;   ///< trigger_cause bits of a pull task
  bool is_known = false;     ///< of the engine: its output was known, it is not run
  /// Set: the node that failed and whose error handler `node` is.
  std::uint32_t failed_node = pull;
  [[nodiscard]] bool is_push() const noexcept { return push_index != pull; }
  /// The node that was triggered, or sent to.
  [[nodiscard]] std::uint32_t origin() const noexcept {
    return failed_node == pull ? node : failed_node;
  }
};

/// The tasks of one super-step and what they gave. Buffers keep their capacity from step to step.
struct super_step {
  std::vector<step_task> tasks;
  /// The Sends that made the push tasks, by push_index. Shared with bodies that were given up and
  /// may still read their input; the next step then takes a fresh one.
  std::shared_ptr<std::vector<send>> inputs = std::make_shared<std::vector<send>>();
  std::vector<std::uint32_t> finished; ///< task numbers, in the order they ended
  write_list writes;
  std::vector<std::uint32_t> targets;
  std::vector<send> sends;
  state_ptr adopted; ///< see node_output::adopted
  std::vector<std::uint32_t> adopted_changes;
  /// Of a thread's START task: what it writes and where it goes besides the entry's edges.
  std::optional<write_list> input;
  std::vector<std::uint32_t> input_targets;

  void clear();
  /// Takes the output of a task that has ended and leaves `output` empty. Tasks end in any order,
  /// each once. @pre !output.to_parent
  void record(std::uint32_t task, node_output&& output);
  /// The same for what a task gave in an earlier attempt at this step.
  void record(std::uint32_t task, const task_output& output);
  /// A copy of what a task that has ended gave.
  [[nodiscard]] task_output output_of(const step_task&) const;
};

enum class next_step : std::uint8_t { run, done, out_of_steps };

/// Where one run stands between two super-steps. Plain data, owned by its coordinator.
class run_state {
public:
  run_state() = default;
  /// Makes it a fresh run of a program. Keeps buffers.
  void reset(detail::program_ptr table, std::string run_id, std::uint32_t recursion_limit);
  /// After reset(): makes it go on where a checkpoint of the same table stands, and keeps track of
  /// what is needed for the next one. Without a checkpoint: a fresh thread.
  void restore(const checkpoint* from);
  /// The current place as data. @pre restore() was called
  [[nodiscard]] position where() const;
  /// Lets go of state and table; keeps buffers.
  void clear() noexcept;

  [[nodiscard]] const detail::program& table() const noexcept { return *table_; }
  [[nodiscard]] const detail::program_ptr& table_ptr() const noexcept { return table_; }
  [[nodiscard]] const state_ptr& state() const noexcept { return state_; }
  [[nodiscard]] state_ptr take_state() noexcept { return std::move(state_); }
  /// Number of the super-step that prepare() made last, 1 for the first nodes.
  [[nodiscard]] std::int64_t step() const noexcept { return step_; }
  /// Channels changed by the last apply(), each once.
  [[nodiscard]] std::span<const std::uint32_t> changes() const noexcept { return changes_; }
  /// Super-steps that may still be prepared before the run is out of steps.
  [[nodiscard]] std::int64_t steps_left() const noexcept { return stop_ - step_; }

  /// Abandons what is pending and lets START write this input in the next step.
  void accept_input(write_list input, std::vector<std::uint32_t> targets);
  /// Drops what an edit of the state drops: pending Sends, and triggers of edges and branches.
  void drop_pending() noexcept;
  /// Writes, targets and Sends of the caller of a run, between two steps.
  [[nodiscard]] result<void> apply_command(const task_output&);
  /// The node that ran last; no_node: START did, or nothing yet. Nothing: several.
  [[nodiscard]] std::optional<std::uint32_t> last_node() const;
  /// Counts a step that was not prepared, or takes one back.
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
  std::vector<std::uint8_t> causes_;     // by node: trigger_cause bits, 0: not triggered
  std::vector<std::uint32_t> triggered_; // nodes, unordered
  std::vector<std::uint32_t> deferred_;  // triggered too, but held until nothing else is
  std::vector<named_barrier_value> joins_;
  std::vector<send> sends_; // for the next step
  std::vector<std::uint32_t> changes_;
  std::vector<write*> ordered_; // scratch of apply
  std::int64_t step_ = -1;
  std::int64_t stop_ = 0;
  bool keep_changes_ = false; // those of the input, applied by begin(), count for step 0
  id_source ids_{{}};
  // Only of threads.
  std::optional<write_list> input_;
  std::vector<std::uint32_t> input_targets_;
  std::unique_ptr<seen_versions> versions_;
};

/// Step 0: the input is written to its channels; the hidden entry becomes the step's only task
/// (node program::no_node), whose routers choose where to go. apply() then fires its edges.
[[nodiscard]] result<void> begin(run_state&, super_step&, std::span<write> input);

/// Finds out who runs next: pending Sends in order, then triggered nodes by name. Out of steps: the
/// tasks are those that would have run.
[[nodiscard]] next_step prepare(run_state&, super_step&);

/// The barrier: applies what the tasks gave, in the order of their task paths (nodes by name, then
/// Sends by index), never in the order they ended; fires edges, joins, targets and Sends. On an
/// error the state is as it was before.
/// Tasks that were not recorded (they asked a question) count as having run and written nothing.
[[nodiscard]] result<void> apply(run_state&, super_step&);

/// The same for an edit of the state as if a node had written it: a step of one task which the node
/// itself does not count as having run.
[[nodiscard]] result<void> apply_edit(run_state&, super_step&);

/// Applies writes, given in task order, to a state: sorts them by channel, one update each.
/// `changes` gets the channels that changed. An error leaves the state unusable. For what routers
/// see.
[[nodiscard]] result<void> apply_in_order(const detail::program&, state_block&, std::span<write*>,
                                          id_source&, std::vector<std::uint32_t>& changes);

} // namespace superstep

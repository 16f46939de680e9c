// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/channels/named_barrier_value.hpp>
#include <superstep/checkpoint/graph_layout.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// A Send: an additional activation of a node in the next super-step, with its own input.
struct send {
  std::uint32_t node = 0;       ///< index into graph_layout::nodes
  std::uint32_t timeout_ms = 0; ///< limit for the attempt in milliseconds; 0 uses the node's limit
  value input;
};

/// A pending question of a task to a human. The id is derived from the task and the question, so it
/// stays the same in every process until the question is answered.
struct interrupt {
  std::string id;
  json::value value; ///< the question, as the task passed it
};

/// Reasons why a node is scheduled, combined as bits. A state edit clears only some of them.
enum class trigger_cause : std::uint8_t { branch = 1, join = 2, held_back = 4 };

/// A node that runs in the next super-step.
struct trigger {
  std::uint32_t node = 0;  ///< index into graph_layout::nodes
  std::uint8_t causes = 0; ///< bits of trigger_cause
};

/// Version numbers of writes and of the reads that followed them. Each super-step's barrier draws
/// one number. They identify the node that ran last, which is the author of a state edit that does
/// not name one. Corresponds to `channel_versions` and `versions_seen` in LangGraph 1.2.22.
struct seen_versions {
  std::uint64_t last = 0;                 ///< the highest number drawn so far
  std::uint64_t entry = 0;                ///< the latest input
  std::uint64_t entry_seen = 0;           ///< the latest input that START has processed
  std::vector<std::uint64_t> branch;      ///< by node: the latest trigger or run of the node
  std::vector<std::uint64_t> branch_seen; ///< by node: `branch` at the time the node last ran
  std::vector<std::uint64_t> join;        ///< by join: the latest arrival
  std::vector<std::uint64_t> join_seen;   ///< by join: `join` at the time its target last ran
};

/// The scheduling state of a thread between two super-steps: everything but the channel values.
struct position {
  /// The input, or the command in its place, that the hidden START task writes next; empty if START
  /// has run.
  std::optional<write_list> input;
  std::vector<std::uint32_t> input_targets; ///< additional nodes that the input triggers
  std::vector<trigger> triggered;           ///< nodes of the next super-step
  std::vector<trigger> deferred;            ///< nodes that wait until nothing else is left to run
  std::vector<named_barrier_value> joins;   ///< by join: the sources that have arrived
  std::vector<send> sends;                  ///< additional activations of the next super-step
  seen_versions versions;
};

/// The operation that created a checkpoint.
enum class checkpoint_source : std::uint8_t {
  input,  ///< a new input
  loop,   ///< a super-step
  update, ///< a state edit
  fork,   ///< a copy of an older checkpoint
};
/// Returns the enumerator's name, which is also its stored form.
[[nodiscard]] std::string_view to_text(checkpoint_source) noexcept;

/// A snapshot of a thread between two super-steps. Immutable once saved; values are shared, not
/// copied.
struct checkpoint {
  std::string id;     ///< unique within its namespace; ids sort as text in order of creation
  std::string parent; ///< id of the checkpoint it was made from; empty for the first
  checkpoint_source source = checkpoint_source::input;
  std::int64_t step = 0; ///< the super-step that it follows; -1 for the first input
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

/// Whether `metadata` contains every entry of `wanted` with an equal value.
/// @param metadata may be null, which means empty
[[nodiscard]] bool has_entries(const json::object* metadata, const json::object& wanted) noexcept;

/// The result of one task, stored until its super-step is applied.
struct task_output {
  std::vector<write> writes;
  std::vector<std::uint32_t> targets; ///< nodes that the task triggers
  std::vector<send> sends;
};

/// The record of one task of the super-step that follows a checkpoint.
struct task_record {
  /// Path of the task: `agent`, or `tools#3` for the fourth Send; empty for the caller of the run.
  std::string task;
  std::optional<task_output> output; ///< set if the task has finished; it is not run again
  std::optional<std::vector<interrupt>> interrupts; ///< its latest questions, answered or not
  std::vector<json::value> answers;            ///< resume values, in the order of its questions
  std::string error;                           ///< error text; empty if the task did not fail
  std::exception_ptr cause;          ///< cause of the error; a restored_error if read from storage
  std::optional<json::value> resume; ///< the caller's resume value for the first open question
};

/// Returns the part of a record that is stored: a copy without writes to channels that checkpoints
/// do not contain.
/// @param layout the layout that the record's channel numbers refer to
[[nodiscard]] task_record storable_part(const task_record& of, const graph_layout& layout);

/// An index over an append-only list of task records. Lookup is O(1) on average; lists of up to 16
/// records are searched without an index. Not thread-safe.
class record_index {
public:
  /// Adds a record to the list, or merges it into the record of the same task: questions, answers
  /// and errors replace the earlier ones, an output is never replaced. The caller's outputs (empty
  /// task path) are concatenated.
  void add(std::vector<task_record>& known, task_record more);
  /// Returns the record of a task, or null. The pointer is valid until the list changes.
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
  mutable boost::unordered_flat_map<std::string, std::size_t, hash, std::equal_to<>> by_task_;
  mutable std::size_t indexed_ = 0; ///< records of the list that are in the map
};

/// A checkpoint together with the records of the tasks that follow it.
struct saved_checkpoint {
  checkpoint_ptr checkpoint;
  std::vector<task_record> tasks; ///< one per task, in the order of their first record
};

/// Identifies a sequence of checkpoints: a thread, and within it the graph or one of its subgraphs.
struct thread_key {
  std::string thread_id;
  /// Namespace: empty for the outermost graph, `node:task|node:task` for a subgraph.
  std::string ns;
  auto operator<=>(const thread_key&) const = default;
};

} // namespace superstep

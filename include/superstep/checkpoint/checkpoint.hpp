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

/// One more activation of a node, with an input of its own, in the next super-step.
struct send {
  std::uint32_t node = 0;
  std::uint32_t timeout_ms = 0; ///< of the whole attempt, instead of its node's; 0: that one's
  value input;
};

/// A question that a task asked. The id names task and question: it is the same for as long as the
/// question is open, in whatever process.
struct interrupt {
  std::string id;
  json::value value;
};

/// Why a node is to run next; combined as bits. Causes differ in what an edit of the state clears.
enum class trigger_cause : std::uint8_t { branch = 1, join = 2, held_back = 4 };

struct trigger {
  std::uint32_t node = 0;
  std::uint8_t causes = 0;
};

/// When what was written and seen: numbers drawn by each barrier. They tell which node ran last,
/// as whom an edit of the state counts when it names nobody (the reference's channel versions).
struct seen_versions {
  std::uint64_t last = 0;
  std::uint64_t entry = 0;
  std::uint64_t entry_seen = 0;
  std::vector<std::uint64_t> branch;      ///< by node: when something last led to it, or it ran
  std::vector<std::uint64_t> branch_seen; ///< the same, as it stood when the node ran
  std::vector<std::uint64_t> join;
  std::vector<std::uint64_t> join_seen;
};

/// Where a thread stands between two super-steps, besides its state.
struct position {
  /// Set: the input (or a Command in its place) that the hidden START task is about to write.
  std::optional<write_list> input;
  std::vector<std::uint32_t> input_targets;
  std::vector<trigger> triggered;
  std::vector<trigger> deferred; ///< held back until nothing else is left to run
  std::vector<named_barrier_value> joins;
  std::vector<send> sends;
  seen_versions versions;
};

/// What made a checkpoint.
enum class checkpoint_source : std::uint8_t { input, loop, update, fork };
[[nodiscard]] std::string_view to_text(checkpoint_source) noexcept;

/// A thread between two super-steps. Immutable once it was saved; values are shared.
struct checkpoint {
  std::string id;     ///< of one thread: sorts as text in the order in which they were made
  std::string parent; ///< empty: the first
  checkpoint_source source = checkpoint_source::input;
  std::int64_t step = 0; ///< the super-step that it follows, -1 for the first input
  layout_ptr layout;
  state_view state;
  position where;
  /// What the caller said about the run that made it, in run_config's metadata and configurable:
  /// texts, numbers and truth values. Null: nothing.
  std::shared_ptr<const json::object> metadata;
  /// Nodes that the thread stood before and that the graph it was loaded for does not have.
  std::vector<std::string> lost_nodes;
};
using checkpoint_ptr = std::shared_ptr<const checkpoint>;

/// Whether metadata, null for none, has all of these entries.
[[nodiscard]] bool has_entries(const json::object* metadata, const json::object& wanted) noexcept;

/// What one task gave, kept until the step that it belongs to is applied.
struct task_output {
  std::vector<write> writes;
  std::vector<std::uint32_t> targets;
  std::vector<send> sends;
};

/// What is known of one task of the step that follows a checkpoint.
struct task_record {
  std::string task; ///< its path: `agent`, or `tools#3` for the fourth Send; empty: the caller
  std::optional<task_output> output;           ///< set: it has ended and is not run again
  std::optional<std::vector<interrupt>> asked; ///< its latest questions, answered or not
  std::vector<json::value> answers;            ///< to its questions, in their order
  std::string error;                           ///< empty: none
  std::exception_ptr cause; ///< of the error; a remembered_error when the thread was loaded
  std::optional<json::value> resume; ///< of the caller: an answer for whoever asks first
};

/// The part of a record that savers get: without writes to channels that no checkpoint keeps.
[[nodiscard]] task_record kept_part(const task_record& of, const graph_layout& layout);

/// Finds records of tasks in a list that only grows, in constant time however many there are.
/// Short lists are searched without an index.
class record_index {
public:
  /// Adds a record to what is known: of a task that is known already, questions, answers and errors
  /// replace, an output stays as it is.
  void add(std::vector<task_record>& known, task_record more);
  [[nodiscard]] const task_record* find(const std::vector<task_record>& known,
                                        std::string_view task) const;
  /// The list was cleared or replaced.
  void clear() noexcept;

private:
  struct hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  static constexpr std::size_t unindexed_max = 16;
  mutable boost::unordered_flat_map<std::string, std::size_t, hash, std::equal_to<>> by_task_;
  mutable std::size_t indexed_ = 0; ///< records of the list that are in the map
};

/// A checkpoint and its tasks, as a saver gives them.
struct saved_checkpoint {
  checkpoint_ptr point;
  std::vector<task_record> tasks; ///< in the order in which they were first told of
};

/// Which checkpoints belong together: a thread, and within it the graph or one of its subgraphs.
struct thread_key {
  std::string thread_id;
  /// Empty: the outermost graph. A subgraph: node names and task keys, `node:task|node:task`.
  std::string ns;
  auto operator<=>(const thread_key&) const = default;
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/channels/channel.hpp>
#include <superstep/runtime/detail/program.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace superstep {

/// The kinds of events that a stream contains, combined with | (`StreamMode` in
/// langgraph/types.py).
enum class stream_mode : std::uint8_t {
  none = 0,
  values = 1,       ///< the state after the input, and after each step that changed it
  updates = 2,      ///< the writes of each task, when it has ended
  custom = 4,       ///< values that bodies send with runtime::emit()
  debug = 8,        ///< starts and barriers of super-steps
  tasks = 16,       ///< the input of each task when it starts, and its result when it ends
  checkpoints = 32, ///< each new checkpoint, in graphs with a checkpointer
  /// Adds the events of subgraphs to those of the other modes. Their values and updates contain
  /// only their output channels (json_graph::output()).
  subgraphs = 64,
  messages = 128, ///< messages, and pieces of messages, that bodies send
};
/// Returns the set of the modes in `a` and `b`.
[[nodiscard]] constexpr stream_mode operator|(stream_mode a, stream_mode b) noexcept {
  return static_cast<stream_mode>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
/// Whether `set` contains the mode `one`, or any of several modes.
[[nodiscard]] constexpr bool includes(stream_mode set, stream_mode one) noexcept {
  return (static_cast<std::uint8_t>(set) & static_cast<std::uint8_t>(one)) != 0;
}

/// Counters of the cost of a run.
struct run_stats {
  std::uint64_t steps = 0; ///< super-steps, without those of nested runs
  std::uint64_t tasks = 0; ///< tasks of these super-steps
  /// The time in nanoseconds that the first finished task of a step waited for the others. One
  /// entry for each step in which a task had to wait.
  std::vector<std::uint64_t> barrier_wait_ns;
};

} // namespace superstep

namespace superstep::detail {

/// An event of a run, without the type of the state. All events of step n come before those of step
/// n + 1. Within a step, updates come in the order in which the tasks ended, and values after them.
struct run_event {
  enum class phase : std::uint8_t { none, started, ended };

  stream_mode mode = stream_mode::none;
  std::int64_t step = 0;
  /// Names of the nodes that lead to the subgraph of the event; null for the outermost graph.
  std::shared_ptr<const std::vector<std::string>> path;
  std::shared_ptr<const std::string> ns; ///< see event_origin::ns
  program_ptr table;        ///< the program of a subgraph; null for the outermost graph
  phase at = phase::none;   ///< tasks: whether the task has started or ended
  bool is_cached = false;   ///< updates: see update_event::is_cached
  std::string error;        ///< tasks: why the task failed; empty if it did not fail
  std::exception_ptr cause; ///< tasks: the exception of a task that failed
  /// updates, values, tasks: the pending interrupts
  std::optional<std::vector<interrupt>> interrupts;
  checkpoint_ptr checkpoint;     ///< checkpoints: the new checkpoint
  std::vector<std::string> next; ///< checkpoints: nodes that run next
  std::string node;              ///< updates, custom, messages, tasks: name of the node
  std::uint32_t task_index = 0;
  /// values: channels that the step changed; empty for a resume
  std::vector<std::uint32_t> changes;
  state_view state;  ///< values: a shared, immutable snapshot
  write_list writes; ///< updates, tasks: the writes of a task that has ended
  /// messages: the object that the body sent; agents send `message` and `message_chunk`
  value message;
  /// custom: the value; tasks: the input of a task that has started; debug: see debug_event
  json::value data;
};

/// The result of a run without the type of the state; run_result adds it.
struct raw_result {
  state_ptr state; ///< null if the run never started
  std::optional<run_error> error;
  run_stats stats;
  /// The pending interrupts if the run was interrupted; empty at a breakpoint. Not set otherwise.
  std::optional<std::vector<interrupt>> interrupts;
  /// For resumed and nested runs: the state after the last step that changed an output channel;
  /// null if none did. Channels that live for one step may have been emptied since.
  state_view shown;
  std::shared_ptr<const value> to_parent; ///< for nested runs: see node_output::to_parent
};

} // namespace superstep::detail

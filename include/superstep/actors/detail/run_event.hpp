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
  values = 1,       ///< the state after each step that changed it, the first after the input
  updates = 2,      ///< what each task wrote, as it ends
  custom = 4,       ///< what bodies send with runtime::emit(), at once
  debug = 8,        ///< activations, votes to halt, barriers
  tasks = 16,       ///< the input of each task when it starts, and its result when it ends
  checkpoints = 32, ///< each new checkpoint, in graphs with a checkpointer
  /// not a mode of its own: adds the events of subgraphs; their values and updates are limited to
  /// their output channels (compile_options::output)
  subgraphs = 64,
  messages = 128, ///< messages and pieces of messages, as bodies receive them
};
[[nodiscard]] constexpr stream_mode operator|(stream_mode a, stream_mode b) noexcept {
  return static_cast<stream_mode>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
/// Whether `set` contains the mode `one`.
[[nodiscard]] constexpr bool includes(stream_mode set, stream_mode one) noexcept {
  return (static_cast<std::uint8_t>(set) & static_cast<std::uint8_t>(one)) != 0;
}

/// Counters of the cost of a run.
struct run_stats {
  std::uint64_t steps = 0;
  std::uint64_t tasks = 0;
  /// For each step whose tasks did not all end in place: nanoseconds from the end of its first task
  /// to the barrier.
  std::vector<std::uint64_t> barrier_wait_ns;
};

} // namespace superstep

namespace superstep::detail {

/// An event of a run, in erased form. All events of step n come before those of step n + 1. Within
/// a step, updates come in the order in which the tasks ended, and values after them.
struct run_event {
  enum class phase : std::uint8_t { none, started, ended };

  stream_mode mode = stream_mode::none;
  std::int64_t step = 0;
  /// The nodes that lead to the subgraph of the event; null for the outermost graph.
  std::shared_ptr<const std::vector<std::string>> path;
  program_ptr table;        ///< the program, in events of subgraphs
  phase at = phase::none;   ///< in events of the mode tasks
  bool is_cached = false;   ///< updates: the task did not run, its output was cached
  std::string error;        ///< tasks, ended: why it failed; empty if it did not
  std::exception_ptr cause; ///< the exception of the error
  std::optional<std::vector<interrupt>>
      interrupts;                ///< updates, values, tasks: the pending interrupts
  checkpoint_ptr checkpoint;     ///< checkpoints
  std::vector<std::string> next; ///< checkpoints: nodes that run next
  std::string node;              ///< updates, custom, messages
  std::uint32_t task_index = 0;
  /// values: channels that the step changed; empty for a resume
  std::vector<std::uint32_t> changes;
  state_view state;  ///< values: a shared, immutable snapshot
  write_list writes; ///< updates: the writes of the task
  /// messages: the object that the body sent; agents send `message` and `message_chunk`
  value message;
  json::value data; ///< custom; tasks, started: the input; debug: {"event": "step" | …}
};

/// The result of a run in erased form; see run_result for the typed one.
struct raw_result {
  state_ptr state; ///< null if the run never started
  std::optional<run_error> error;
  run_stats stats;
  /// Pending interrupts if the run was interrupted; empty at a breakpoint. With a checkpointer, run
  /// again with the same thread id to resume.
  std::optional<std::vector<interrupt>> interrupts;
  /// For resumed and nested runs: the state after the last step that changed an output channel;
  /// null if none did. Channels that live for one step may have been emptied since.
  state_view shown;
  std::shared_ptr<const value> to_parent; ///< for nested runs: see node_output::to_parent
};

} // namespace superstep::detail

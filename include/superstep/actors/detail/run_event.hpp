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

/// What a stream tells. Combined with |.
enum class stream_mode : std::uint8_t {
  none = 0,
  values = 1,       ///< the state after each step that changed it, the first after the input
  updates = 2,      ///< what each task wrote, as it ends
  custom = 4,       ///< what bodies emit, at once
  debug = 8,        ///< who was activated, who voted to halt, when the barrier closed
  tasks = 16,       ///< what each task reads as it starts, and how it ended
  checkpoints = 32, ///< where the thread stands, of runs whose graph has a checkpointer
  subgraphs = 64,   ///< no mode: the events of subgraphs as well; values and updates of a subgraph
                    ///< are limited to its output (compile_options::output)
  messages = 128,   ///< messages and pieces of them, as bodies come by them
};
[[nodiscard]] constexpr stream_mode operator|(stream_mode a, stream_mode b) noexcept {
  return static_cast<stream_mode>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
[[nodiscard]] constexpr bool includes(stream_mode set, stream_mode one) noexcept {
  return (static_cast<std::uint8_t>(set) & static_cast<std::uint8_t>(one)) != 0;
}

/// What counts as cost of a run.
struct run_stats {
  std::uint64_t steps = 0;
  std::uint64_t tasks = 0;
  /// Per step whose tasks did not all end in place: from the first task's end to the barrier.
  std::vector<std::uint64_t> barrier_wait_ns;
};

} // namespace superstep

namespace superstep::detail {

/// One event of a run. Everything of step n comes before everything of step n + 1; within a step
/// updates come in the order in which the tasks ended, values after them.
struct run_event {
  enum class phase : std::uint8_t { none, started, ended };

  stream_mode mode = stream_mode::none;
  std::int64_t step = 0;
  /// The nodes that lead to the subgraph that it is about; null: the outermost graph.
  std::shared_ptr<const std::vector<std::string>> path;
  program_ptr table;        ///< set in the events of subgraphs
  phase at = phase::none;   ///< of tasks
  bool is_cached = false;   ///< updates: the task was not run, its output was known
  std::string error;        ///< tasks, ended: why it failed; empty: it did not
  std::exception_ptr cause; ///< of the error
  std::optional<std::vector<interrupt>>
      interrupts;                              ///< updates, values, tasks: what the run stops for
  checkpoint_ptr checkpoint;                   ///< checkpoints
  std::vector<std::string> next;               ///< checkpoints: nodes that run next
  std::string node;                            ///< updates, custom, messages
  std::uint32_t task_index = 0;
  std::vector<std::uint32_t> changes; ///< values: channels that the step changed; none: a resume
  state_view state;                   ///< values: a snapshot, shared, never changed
  write_list writes;                  ///< updates: channel and value
  value message;    ///< messages: what the body sent; from the agents: `message`, `message_chunk`
  json::value data; ///< custom; tasks, started: the input; debug: {"event": "step" | …}
};

/// How a run ended, for front ends: the typed ones are in engine.hpp.
struct raw_result {
  state_ptr state; ///< null when the run never began
  std::optional<run_error> error;
  run_stats stats;
  /// Set: the run stopped before its end, for these questions (none: at a breakpoint), and can be
  /// resumed when its graph has a checkpointer.
  std::optional<std::vector<interrupt>> interrupts;
  /// Of runs that go on with a thread or lie below another: the state as it stood when the run last
  /// changed something that its caller sees; null: it changed nothing. Channels that live for one
  /// step may have been emptied since.
  state_view shown;
  std::shared_ptr<const value> to_parent; ///< of nested runs: see node_output::to_parent
};

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/channels/channel.hpp>
#include <superstep/runtime/graph_error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace superstep {

/// What a stream tells. Combined with |.
enum class stream_mode : std::uint8_t {
  none = 0,
  values = 1,  ///< the state after each step that changed it, the first after the input
  updates = 2, ///< what each task wrote, as it ends
  custom = 4,  ///< what bodies emit, at once
  debug = 8,   ///< who was activated, who voted to halt, when the barrier closed
};
[[nodiscard]] constexpr stream_mode operator|(stream_mode a, stream_mode b) noexcept {
  return static_cast<stream_mode>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
[[nodiscard]] constexpr bool includes(stream_mode set, stream_mode one) noexcept {
  return (static_cast<std::uint8_t>(set) & static_cast<std::uint8_t>(one)) != 0;
}

/// One event of a run. Everything of step n comes before everything of step n + 1; within a step
/// updates come in the order in which the tasks ended, values after them.
struct run_event {
  stream_mode mode = stream_mode::none;
  std::int64_t step = 0;
  std::string node; ///< updates, custom
  std::uint32_t task_index = 0;
  state_view state;                   ///< values: a snapshot, shared, never changed
  write_list writes;                  ///< updates: channel and value
  json::value data;                   ///< custom; debug: {"event": "step" | "barrier" | "end", …}
};

/// What counts as cost of a run.
struct run_stats {
  std::uint64_t steps = 0;
  std::uint64_t tasks = 0;
  /// Per step whose tasks did not all end in place: from the first task's end to the barrier.
  std::vector<std::uint64_t> barrier_wait_ns;
};

/// How a run ended, for front ends: the typed ones are in engine.hpp.
struct raw_result {
  state_ptr state; ///< null when the run never began
  std::optional<run_error> error;
  run_stats stats;
};

} // namespace superstep

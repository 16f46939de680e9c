// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shell.hpp"

#include <superstep/actors/event_stream.hpp>
#include <superstep/actors/run_event.hpp>
#include <superstep/runtime/step.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace superstep {

/// What somebody asked an engine to run.
struct run_request {
  program_ptr table;
  write_list input;
  std::shared_ptr<const run_config> config;
  std::function<void(raw_result)> done;
  std::shared_ptr<event_sink> sink;
  stream_mode modes = stream_mode::none;
};

/// One live run: the coordinator's data. Owned by its lane, which alone touches it. Records are
/// reused; `generation` tells the tenants apart.
struct alignas(64) run {
  std::uint64_t number = 0;
  std::uint32_t generation = 0;
  bool live = false;
  bool queued = false; ///< stands in the lane's queue
  bool paused = false; ///< waits for the reader of its stream
  run_request request;
  run_state state;
  super_step step;
  std::uint32_t next_task = 0; ///< the next task of the step to be started
  std::uint32_t flights = 0;   ///< calls of this run that are not in place
  std::vector<call*> open;     ///< these calls
  shell_ptr coordinator;
  std::vector<shell_ptr> node_actors; ///< by node; made when first activated
  run_stats stats;
  std::vector<std::uint32_t> again;   ///< tasks whose next attempt is due
  std::uint32_t waiting = 0;          ///< tasks whose next attempt is not due yet
  std::unique_ptr<run_error> failure; ///< ends the run once the step's last task has begun
  std::uint64_t first_end_ns = 0;     ///< of the step: when its first task ended while others flew

  [[nodiscard]] const program& table() const noexcept { return state.table(); }
  [[nodiscard]] bool streams(stream_mode m) const noexcept { return includes(request.modes, m); }
  [[nodiscard]] std::string task_path(const step_task& t) const {
    const auto& name = table().node(t.node).name;
    return t.is_push() ? name + '#' + std::to_string(t.push_index) : name;
  }
};

} // namespace superstep

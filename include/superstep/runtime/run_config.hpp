// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/optional_box.hpp>
#include <superstep/checkpoint/fwd.hpp>
#include <superstep/runtime/run_context.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace superstep {

/// When the checkpoints of a run are saved (`Durability` in langgraph/types.py).
enum class durability : std::uint8_t {
  async, ///< in order, while the next step runs
  sync,  ///< before the next step starts
  exit,  ///< a single one, when the run ends
};

/// Options of a run on a thread, beyond the thread's name.
struct thread_options {
  std::string checkpoint_id{}; ///< checkpoint to start from; empty: the newest
  /// The namespace of a subgraph, for get_state() and update_state(); empty: the outermost graph.
  std::string checkpoint_ns{};
  superstep::durability durability = superstep::durability::async;
  /// Whether to wait or to fail if another run has the thread.
  busy_policy on_busy = busy_policy::wait;
  /// Nodes before or after which the run is interrupted, instead of those of compile(). `*` names
  /// all.
  std::optional<std::vector<std::string>> interrupt_before{};
  std::optional<std::vector<std::string>> interrupt_after{};
  /// The checkpointer, long-term memory and cache of the run; those of the graph unless set.
  /// Subgraphs inherit them.
  std::shared_ptr<superstep::checkpointer> checkpointer{};
  std::shared_ptr<superstep::store> store{};
  std::shared_ptr<write_cache> cache{};
};

/// The options of one run. Read-only while it runs, and the same for all its nodes.
struct run_config {
  /// Names the run in errors and events, and seeds ids. Empty: the engine numbers it.
  std::string run_id{};
  std::string thread_id{};            ///< the conversation that the run belongs to; empty: none
  std::uint32_t recursion_limit = 25; ///< super-steps before the run fails
  std::uint32_t max_concurrency = 0;  ///< tasks of the run at once; 0: no limit
  /// The longest time that the whole run may take, from its start. Not set: no limit.
  std::optional<std::chrono::milliseconds> deadline{};
  std::vector<std::string> tags{};
  json::object metadata{};
  json::object configurable{};
  optional_box<thread_options> thread{};
  run_context context{}; ///< read by bodies with runtime::context<T>()
};

} // namespace superstep

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

/// When the checkpoints of a run are saved.
enum class durability : std::uint8_t {
  async, ///< while the next step runs, in order
  sync,  ///< before the next step starts
  exit,  ///< one, when the run ends
};

/// What a caller may say beyond the thread's name.
struct thread_options {
  std::string checkpoint_id{}; ///< where the thread goes on; empty: its newest checkpoint
  durability when = durability::async;
  when_in_use in_use = when_in_use::wait;
  /// Nodes that the run stops before or after, instead of those of compile(); `*`: all.
  std::optional<std::vector<std::string>> interrupt_before{};
  std::optional<std::vector<std::string>> interrupt_after{};
  /// Where the thread is kept, long-term memory, outputs of earlier activations: those of the graph
  /// unless set. Subgraphs inherit them.
  std::shared_ptr<saver> checkpointer{};
  std::shared_ptr<superstep::store> store{};
  std::shared_ptr<write_cache> cache{};
};

/// What the caller says about one run. The same for all its nodes, read-only while it runs.
struct run_config {
  std::string
      run_id; ///< names the run in errors and events; seeds ids. Empty: the engine numbers it
  std::string thread_id;                 ///< the conversation it belongs to; empty: none
  std::uint32_t recursion_limit = 25;    ///< super-steps before the run is given up
  std::uint32_t max_concurrency = 0;     ///< tasks of the run under way at once; 0: no limit
  std::chrono::milliseconds deadline{0}; ///< of the whole run, from its start; 0 = none
  std::vector<std::string> tags;
  json::object metadata;
  json::object configurable;
  optional_box<thread_options> thread;
  run_context context; ///< read by bodies with runtime::context<T>()
};

} // namespace superstep

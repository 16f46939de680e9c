// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace superstep {

class engine_core;

/// A reference to one run of an engine. Cheap to copy. May outlive the run and the engine.
class run_handle {
public:
  run_handle() = default;
  /// Ends the run with graph_errc::cancelled, soon. Suspended bodies are destroyed. A blocking body
  /// runs to completion and its result is discarded. node_options::on_failure may give the output
  /// of open tasks. No effect on a run that has ended. Thread-safe.
  void cancel() const;
  /// Stops the run before its next super-step, with graph_errc::drained. A run on a thread can be
  /// resumed: nothing is lost or done twice. Thread-safe.
  void drain(std::string reason = "requested") const;
  [[nodiscard]] explicit operator bool() const noexcept { return run_ != 0; }

private:
  friend class engine;
  friend class engine_debug;
  std::shared_ptr<const std::weak_ptr<engine_core>> core_; // one count per lane, not per engine
  std::uint64_t run_ = 0;
  std::uint32_t lane_ = 0;
};

} // namespace superstep

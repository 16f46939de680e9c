// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace superstep {

class engine_core;

/// Names one run of an engine. Cheap to copy; outlives the run and the engine.
class run_handle {
public:
  run_handle() = default;
  /// Ends the run with graph_errc::cancelled, soon. Bodies that wait are destroyed, bodies that
  /// block are left to end unheard; when their nodes say what an open task has given, that counts
  /// (node_options::on_failure). Without effect on a run that has ended. Any thread.
  void cancel() const;
  /// Asks the run to stop before its next super-step, with graph_errc::drained. A run on a thread
  /// can be resumed: nothing of it is lost or done twice. Any thread.
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

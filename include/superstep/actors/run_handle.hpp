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
  /// Requests that the run ends with graph_errc::cancelled; does not wait. Suspended bodies are
  /// destroyed. A blocking body runs to completion and its result is discarded.
  /// node_options::on_failure may provide the output of unfinished tasks. No effect on a run that
  /// has ended. Thread-safe.
  void cancel() const;
  /// Stops the run before its next super-step with graph_errc::drained; does not wait. A run on a
  /// thread can be resumed: no work is lost or repeated. Thread-safe.
  /// @param reason part of the error's text
  void drain(std::string reason = "requested") const;
  [[nodiscard]] explicit operator bool() const noexcept { return run_ != 0; }

private:
  friend class engine;
  friend class engine_debug;
  // shared per lane, to avoid contention on the engine's count
  std::shared_ptr<const std::weak_ptr<engine_core>> core_;
  std::uint64_t run_ = 0;
  std::uint32_t lane_ = 0;
};

} // namespace superstep

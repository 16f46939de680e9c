// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/graph_error.hpp>

#include <chrono>

namespace superstep {

/// How long one attempt of an activation may take. One that takes longer fails with
/// node_timeout_error, which is worth a retry by default; what it wrote is dropped. A body that
/// waits is destroyed; one that runs is asked to stop and runs out unheard. compile() refuses a
/// policy with a negative limit or without any.
struct timeout_policy {
  std::chrono::milliseconds run{0};  ///< from its start; 0: no limit
  std::chrono::milliseconds idle{0}; ///< without progress; 0: no limit
  /// Progress is what the body emits, what the graphs it runs do, and runtime::heartbeat().
  /// Set: only the last of these.
  bool heartbeats_only = false;
};

/// An attempt took longer than its node may take.
class node_timeout_error : public graph_error {
public:
  enum class kind : std::uint8_t { run, idle };
  node_timeout_error(kind, std::chrono::milliseconds limit, std::chrono::milliseconds elapsed,
                     run_error where);
  [[nodiscard]] kind what_passed() const noexcept { return kind_; }
  [[nodiscard]] std::chrono::milliseconds limit() const noexcept { return limit_; }
  [[nodiscard]] std::chrono::milliseconds elapsed() const noexcept { return elapsed_; }

private:
  kind kind_;
  std::chrono::milliseconds limit_;
  std::chrono::milliseconds elapsed_;
};

} // namespace superstep

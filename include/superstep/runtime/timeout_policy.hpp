// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/graph_error.hpp>

#include <chrono>

namespace superstep {

/// The longest time that one attempt of an activation may take (LangGraph's `TimeoutPolicy`). A
/// longer one fails with node_timeout_error, which is retried by default, and its writes are
/// discarded. A suspended body is destroyed. A running body is asked to stop (runtime::stop()); it
/// runs to completion and its result is discarded. compile() refuses a policy with a negative limit
/// or without a limit.
struct timeout_policy {
  std::chrono::milliseconds run{0};  ///< from the start of the attempt; 0: no limit
  std::chrono::milliseconds idle{0}; ///< since the last progress; 0: no limit
  /// Whether only runtime::heartbeat() counts as progress. Otherwise the events that the body
  /// emits, and progress of the graphs that it runs, count as well.
  bool heartbeats_only = false;
};

/// The error of an attempt that exceeded a limit of its node's timeout_policy.
class node_timeout_error : public graph_error {
public:
  enum class kind : std::uint8_t { run, idle };
  node_timeout_error(kind, std::chrono::milliseconds limit, std::chrono::milliseconds elapsed,
                     run_error where);
  /// The limit that the attempt exceeded.
  [[nodiscard]] kind what_passed() const noexcept { return kind_; }
  /// The value of that limit.
  [[nodiscard]] std::chrono::milliseconds limit() const noexcept { return limit_; }
  /// The time that the attempt had taken, or that had passed without progress.
  [[nodiscard]] std::chrono::milliseconds elapsed() const noexcept { return elapsed_; }

private:
  kind kind_;
  std::chrono::milliseconds limit_;
  std::chrono::milliseconds elapsed_;
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/runtime/run_config.hpp>

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string_view>

namespace superstep {

/// What a node body may ask of the run it is part of. Copyable; owned by its call, so it stays
/// valid for a body that outlives its call.
class runtime {
public:
  /// Number of the super-step, from 1 for the first nodes of a fresh run.
  [[nodiscard]] std::int64_t step() const noexcept { return step_; }
  /// Recursion limit minus step; 1 in the last step after which the run can still end well.
  [[nodiscard]] std::int64_t remaining_steps() const noexcept {
    return static_cast<std::int64_t>(config_->recursion_limit) - step_;
  }
  [[nodiscard]] bool is_last_step() const noexcept { return remaining_steps() == 1; }
  [[nodiscard]] std::string_view node() const noexcept { return node_; }
  /// Position of the call's Send in its super-step; 0 for a node triggered by edges.
  [[nodiscard]] std::uint32_t task_index() const noexcept { return task_index_; }
  [[nodiscard]] std::uint32_t attempt() const noexcept { return attempt_; }
  [[nodiscard]] const run_config& config() const noexcept { return *config_; }
  /// Set when the call is cancelled; a body that blocks may look at it now and then.
  [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }
  template <class T>
  [[nodiscard]] const T* context() const noexcept {
    return static_cast<const T*>(config_->context.get());
  }
  /// Sends a custom event to whoever streams the run, at once. Thread-safe.
  void emit(json::value event) const {
    if (emit_)
      emit_(std::move(event));
  }

  // Filled by whoever runs the body.
  runtime(std::shared_ptr<const run_config> config, std::string_view node, std::int64_t step,
          std::uint32_t task_index)
      : config_{std::move(config)}, node_{node}, step_{step}, task_index_{task_index} {}
  void set_stop(std::stop_token stop) noexcept { stop_ = std::move(stop); }
  void set_attempt(std::uint32_t attempt) noexcept { attempt_ = attempt; }
  void set_emit(std::function<void(json::value)> emit) { emit_ = std::move(emit); }

private:
  std::shared_ptr<const run_config> config_;
  std::string_view node_; // of the graph's table, which outlives every call
  std::int64_t step_;
  std::uint32_t task_index_;
  std::uint32_t attempt_ = 1;
  std::stop_token stop_;
  std::function<void(json::value)> emit_;
};

} // namespace superstep

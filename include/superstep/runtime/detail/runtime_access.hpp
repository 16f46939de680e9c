// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>

namespace superstep::detail {

/// Sets the members of a body's runtime. For the engine, and for tests.
struct runtime_access {
  [[nodiscard]] static runtime make(std::shared_ptr<const run_config> config, std::string_view node,
                                    std::int64_t step, std::uint32_t task_index) {
    return {std::move(config), node, step, task_index};
  }
  [[nodiscard]] static const std::shared_ptr<const run_config>&
  share_config(const runtime& rt) noexcept {
    return rt.config_;
  }
  static void set_stop(runtime& rt, std::stop_token stop) noexcept { rt.stop_ = std::move(stop); }
  static void set_deadline(runtime& rt,
                           std::optional<std::chrono::steady_clock::time_point> due) noexcept {
    rt.deadline_ = due;
  }
  static void set_steps_left(runtime& rt, std::int64_t steps) noexcept { rt.steps_left_ = steps; }
  static void set_store(runtime& rt, superstep::store* s) noexcept { rt.store_ = s; }
  static void set_services(runtime& rt, call_services* s) noexcept { rt.services_ = s; }
  [[nodiscard]] static call_services* services(const runtime& rt) noexcept { return rt.services_; }
  /// Returns the identity of the body's task, from which tools derive the keys of effect records.
  /// It is the same in every process that repeats the super-step. Null without a checkpointer.
  [[nodiscard]] static std::shared_ptr<const task_place> place(const runtime& rt);
  static void set_attempt(runtime& rt, std::uint32_t attempt) noexcept { rt.attempt_ = attempt; }
  static void set_emitters(runtime& rt, std::shared_ptr<const emitters> to) noexcept {
    rt.emitters_ = std::move(to);
  }
  static void set_failure(runtime& rt, std::shared_ptr<const run_error> why) noexcept {
    rt.failure_ = std::move(why);
  }
};

} // namespace superstep::detail

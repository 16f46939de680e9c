// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator_host.hpp"
#include "idle_actors.hpp"
#include "lane_records.hpp"
#include "run_mail.hpp"

#include <atomic>
#include <random>

namespace superstep {

namespace detail {
class engine_core;
} // namespace detail

/// A lane as the driver of its coordinator: creates records, acquires actors, asks checkpointers,
/// and delivers results. Also counts the runs of the lane.
class lane_host final : public coordinator_host {
public:
  lane_host(detail::engine_core& core, lane& owner);

  [[nodiscard]] time_point now() const noexcept override {
    return std::chrono::steady_clock::now();
  }
  [[nodiscard]] std::uint64_t random() noexcept override { return random_(); }
  [[nodiscard]] std::unique_ptr<run> make_run() override;
  [[nodiscard]] std::unique_ptr<call> make_call() override;
  void acquire(run& r, const detail::program& table) override;
  void release(run& r) noexcept override;
  void acquire(call& c) override;
  void suspended(call& c) noexcept override;
  void release(call& c) noexcept override;
  void release_activated(call& c) noexcept override;
  [[nodiscard]] bool mail_activation(call& c) override;
  [[nodiscard]] bool start_job(call& c) override;
  [[nodiscard]] bool is_alone() const noexcept override { return load() == 1; }
  [[nodiscard]] std::uint64_t expect_run() noexcept override;
  [[nodiscard]] std::optional<result<lease_ptr>> take_lease(run& r) override;
  [[nodiscard]] bool wait_until_saved(run& r) override;
  [[nodiscard]] std::function<void()> canceller(std::uint64_t number) override;
  void deliver(std::uint64_t number, std::function<void(detail::raw_result)>&& done,
               detail::raw_result&& raw, std::shared_ptr<saved_result> saved,
               lease_ptr lease) noexcept override;

  void apply_mail(run& r) override;
  void drop_mail(run& r) override;

  /// The messages of other actors to the runs of the lane, for a function that may add one.
  [[nodiscard]] run_mail& mail() noexcept {
    set_mail(true);
    return mail_;
  }
  /// Returns the actor of an open call of a task or of a fork. Creates it if necessary.
  [[nodiscard]] pooled_actor_ptr actor_of(lane_call& c);
  /// Returns the actor of a node that runs or has run. Creates it if necessary.
  [[nodiscard]] const pooled_actor_ptr& node_actor(run& r, std::uint32_t node);
  /// Sets the actor of a task's call. Creates it if necessary.
  void assign(run& r, lane_call& c, std::uint32_t number);
  /// The number of runs that were submitted to the lane and have not ended. Thread-safe.
  [[nodiscard]] std::size_t load() const noexcept { return load_.load(std::memory_order_relaxed); }
  /// Counts a run that another lane gives to this one.
  void expect_moved() noexcept { load_.fetch_add(1, std::memory_order_relaxed); }
  /// Counts a run as ended.
  void count_end() noexcept {
    SUPERSTEP_ASSERT(load() > 0);
    load_.fetch_sub(1, std::memory_order_relaxed);
  }
  /// Releases all idle actors.
  void clear() noexcept { actors_.clear(); }

private:
  friend class lane_inspector;

  [[nodiscard]] static pooled_actor_ptr* slot_of(run& r, const pooled_actor& actor) noexcept;
  [[nodiscard]] static bool keep(run& r, const pooled_actor_ptr& actor) noexcept;
  void release_node_actor(run* of, lane_call& c, pooled_actor_ptr&& actor) noexcept;

  detail::engine_core& core_;
  lane& lane_;
  idle_actors actors_;
  run_mail mail_;
  // the random source of the jitter between retries; nothing else uses it, so results do not depend
  // on it
  std::minstd_rand random_{std::random_device{}()};
  // shared with other threads and therefore on their own cache line
  alignas(64) std::atomic<std::size_t> load_{0};
  std::atomic<std::uint64_t> numbers_;
};

} // namespace superstep

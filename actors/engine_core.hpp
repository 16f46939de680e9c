// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core_set.hpp"
#include "lane.hpp"
#include "late_results.hpp"
#include "run_limit.hpp"
#include "shutdown_list.hpp"
#include "thread_pool.hpp"
#include "watcher.hpp"

#include <superstep/actors/engine.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace superstep {

/// The implementation of an engine: lanes, thread pool, watcher and actor system. Kept alive by the
/// engine, by each of its threads, and by every actor_ref.
class detail::engine_core : public std::enable_shared_from_this<detail::engine_core> {
public:
  explicit engine_core(engine_options options);
  ~engine_core();

  void start();
  /// Cancels all runs and waits for the threads, at most engine_options::shutdown_grace.
  void shut_down();
  /// Refuses the messages that no lane will handle any more. Called by thread_pool::stop() when the
  /// threads have ended or the grace period is over.
  void close_lanes() noexcept;

  /// Identifies a submitted run: its number on its lane, and the index of the lane.
  struct ticket {
    std::uint64_t number;
    std::uint32_t lane;
  };
  /// Submits a run to the lane `l`, which choose_lane() has returned.
  ticket submit(lane& l, run_request&& request);
  [[nodiscard]] lane& choose_lane() noexcept;
  void cancel(ticket t);
  void resume(ticket t);
  void drain(ticket t, std::string reason);
  /// Calls a function on a lane's thread between two bodies. Thread-safe. The function is dropped
  /// if the lane is no longer served.
  void on_lane(std::uint32_t lane, std::function<void(superstep::lane&)> f);
  /// Calls a function on the thread of the lane that has a run, as on_lane(). The function is
  /// dropped if the run has ended.
  void on_run(ticket t, std::function<void(superstep::lane&, run&)> f);

  // Used by lanes and the watcher.
  [[nodiscard]] const engine_options& options() const noexcept { return options_; }
  [[nodiscard]] const core_set& cores() const noexcept { return cores_; }
  [[nodiscard]] caf::actor_system& system() noexcept { return *system_; }
  [[nodiscard]] const std::vector<boost::intrusive_ptr<lane>>& lanes() const noexcept {
    return lanes_;
  }
  [[nodiscard]] thread_pool& threads() noexcept { return threads_; }
  [[nodiscard]] bool add_job(call& c) { return threads_.add_job(c); }
  void watch() noexcept { watcher_.poke(); }
  [[nodiscard]] const std::atomic<std::uint32_t>& ticks() const noexcept {
    return watcher_.ticks();
  }
  [[nodiscard]] std::size_t live_runs() const noexcept;
  /// Whether the engine was destroyed, or its grace period is over. No callback is called then.
  [[nodiscard]] bool is_over() const noexcept { return over_.load(std::memory_order_relaxed); }
  /// The limit of live runs; null if the engine has none.
  [[nodiscard]] const std::shared_ptr<run_limit>& limit() const noexcept { return limit_; }
  /// The results that wait for a checkpointer.
  [[nodiscard]] const std::shared_ptr<late_results>& late() const noexcept { return late_; }
  /// The objects that are notified when the engine is destroyed.
  [[nodiscard]] shutdown_list& listeners() noexcept { return listeners_; }

private:
  core_set cores_;
  engine_options options_;
  shutdown_list listeners_;
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  std::vector<boost::intrusive_ptr<lane>> lanes_;
  std::atomic<bool> over_{false};
  std::shared_ptr<run_limit> limit_; // shared with the callbacks of the runs
  const std::shared_ptr<late_results> late_ = std::make_shared<late_results>();
  // The members below are written by every run. They start new cache lines, so that lanes can read
  // the members above without cache misses.
  alignas(64) thread_pool threads_;
  alignas(64) watcher watcher_;
  // where choose_lane() starts its search, so that lanes of equal load take turns
  alignas(64) std::atomic<std::uint32_t> next_lane_{0};
};

} // namespace superstep

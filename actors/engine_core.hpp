// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lane.hpp"
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
  /// Cancels all runs and waits for the threads, at most shutdown_grace.
  void shut_down();
  /// Refuses the messages that no lane will handle any more. Called by the threads once they are
  /// stopped.
  void close_lanes() noexcept;

  struct ticket {
    std::uint64_t number;
    std::uint32_t lane;
  };
  /// Submits a run to `l`, which choose_lane() returned.
  ticket submit(lane& l, run_request request);
  [[nodiscard]] lane& choose_lane() noexcept;
  void cancel(ticket t);
  void resume(ticket t);
  void drain(ticket t, std::string reason);
  void saved(ticket t);
  /// Runs a function on a lane, between two bodies. Thread-safe.
  void on_lane(std::uint32_t lane, std::function<void(superstep::lane&)> f);

  // For lanes and the watcher.
  [[nodiscard]] const engine_options& options() const noexcept { return options_; }
  [[nodiscard]] caf::actor_system& system() noexcept { return *system_; }
  [[nodiscard]] const std::vector<boost::intrusive_ptr<lane>>& lanes() const noexcept {
    return lanes_;
  }
  [[nodiscard]] thread_pool& threads() noexcept { return threads_; }
  [[nodiscard]] bool add_job(call& c) { return threads_.add_job(c); }
  void watch() noexcept { watcher_.poke(); }
  [[nodiscard]] std::size_t live_runs() const noexcept;

private:
  engine_options options_;
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  std::vector<boost::intrusive_ptr<lane>> lanes_;
  // Members that every run writes, on other cache lines than those that every lane reads.
  alignas(64) thread_pool threads_;
  alignas(64) watcher watcher_;
  // for runs that are not submitted from a lane
  alignas(64) std::atomic<std::uint32_t> next_lane_{0};
};

} // namespace superstep

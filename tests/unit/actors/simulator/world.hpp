// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/simulation.hpp"
#include "runtime/seeded_scheduler.hpp"
#include "unit/actors/simulator/fiber.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace caf::scheduler {
class test_coordinator;
} // namespace caf::scheduler

namespace superstep::simulation {

using test::dice;
using time_point = std::chrono::steady_clock::time_point;
using std::chrono::microseconds;

/// The simulated machine of one schedule: a virtual clock, threads, and events. Exactly one thing
/// happens at a time; a seed decides which of the things that can happen is next.
///
/// While a world exists, std::chrono::steady_clock shows its time.
class world {
public:
  /// Thrown by run_until() if a schedule does not come to rest.
  struct endless {};

  /// @param seed decides the order of events
  /// @param is_calm whether events happen in the order in which they became possible, and threads
  /// are interrupted only where they wait
  world(std::uint64_t seed, bool is_calm);
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  ~world();
  /// The world that exists; null outside simulations.
  [[nodiscard]] static world* current() noexcept { return current_; }

  [[nodiscard]] time_point now() const noexcept { return now_; }
  [[nodiscard]] dice& random() noexcept { return random_; }
  [[nodiscard]] bool is_calm() const noexcept { return is_calm_; }
  /// The number of events that have happened.
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }
  /// A hash of the order of events. Equal seeds give equal hashes.
  [[nodiscard]] std::uint64_t order() const noexcept { return order_; }

  /// Starts a simulated thread.
  void spawn(std::function<void()> body);
  /// Lets something happen soon, in random order with other events.
  void post(std::function<void()> event);
  /// Lets something happen at a point in time.
  void at(time_point when, std::function<void()> event);
  /// Lets the workers of the actor systems do nothing for a while, so that actors stay busy.
  void pause_workers(microseconds length);
  /// Lets things happen until `is_over` returns true or nothing can happen any more. Time passes
  /// when nothing else can happen. Throws endless after too many events.
  /// @param check called after each event
  void run_until(const std::function<bool()>& is_over);
  /// Sets a function that is called after each event.
  void check_with(std::function<void()> check) { check_ = std::move(check); }

  // Called by simulated threads; without effect outside them.
  /// Lets other things happen first.
  void yield();
  /// Lets time pass. The thread is blocked meanwhile.
  void block(microseconds length);
  /// Blocks the thread until unpark(key), at most until `latest`.
  void park(const void* key, time_point latest);
  void unpark(const void* key);
  [[nodiscard]] std::size_t threads() const noexcept { return threads_; }

  /// Makes the jobs of CAF's scheduler events of this world.
  void add_scheduler(caf::scheduler::test_coordinator& jobs) { schedulers_.push_back(&jobs); }
  void remove_scheduler(const caf::scheduler::test_coordinator& jobs);

private:
  struct event {
    std::uint64_t id;
    std::function<void()> run;
    std::shared_ptr<fiber> thread;
  };
  [[nodiscard]] bool step();
  void happen(event e);
  void add(event e);
  [[nodiscard]] std::size_t choose(std::size_t count);

  static world* current_;
  time_point now_;
  dice random_;
  const bool is_calm_;
  std::vector<event> possible_;
  std::multimap<time_point, event> later_;
  std::map<const void*, std::vector<std::pair<std::uint64_t, std::shared_ptr<fiber>>>> parked_;
  std::vector<caf::scheduler::test_coordinator*> schedulers_;
  std::shared_ptr<fiber> running_;
  std::function<void()> check_;
  std::uint64_t events_ = 0;
  time_point workers_from_{}; // they do nothing before
  std::uint64_t order_ = 0;
  std::uint64_t last_id_ = 0;
  std::size_t threads_ = 0;
};

/// Lets the watchers of all engines look at their lanes.
void let_watchers_look();
/// Returns the lanes of all engines.
[[nodiscard]] std::vector<lane*> all_lanes();
/// The deliberate fault that is switched on.
extern mutant active_mutant;
/// Destroys what keep() has kept.
void drop_kept();
/// The number of times that each transition has happened: for runs and for calls, by the old and
/// the new phase.
using transition_counts = std::array<std::array<std::array<std::uint64_t, 16>, 16>, 2>;
[[nodiscard]] const transition_counts& transitions() noexcept;

} // namespace superstep::simulation

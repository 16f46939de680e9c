// SPDX-License-Identifier: Apache-2.0
// Creates the CAF actor system of an engine. The simulator of the tests replaces this file.
#include "actor_system.hpp"

#include <caf/logger.hpp>

#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace superstep {

namespace {

/// Number of threads that a CAF actor system with one worker starts: the worker and the clock.
constexpr auto caf_threads = std::size_t{2};

/// Throws std::system_error if the system does not allow `n` more threads. Checked before CAF
/// starts its threads, because CAF ends the process if it cannot start one.
void check_threads(std::size_t n) {
  auto release = std::latch{1};
  auto all = std::vector<std::jthread>{};
  try {
    for (auto i = std::size_t{0}; i < n; ++i)
      all.emplace_back([&release] { release.wait(); });
  } catch (const std::system_error& e) {
    release.count_down();
    throw no_threads(e.code());
  }
  release.count_down();
}

} // namespace

std::system_error no_threads(const std::error_code& why) {
  return std::system_error{why, "cannot start the threads of the engine; raise the limit of "
                                "processes (ulimit -u)"};
}

std::unique_ptr<caf::actor_system> make_actor_system(caf::actor_system_config& config) {
  // CAF's scheduler handles only exits, monitors and messages of other actors, so one worker is
  // enough. Bodies run on the threads of the pool.
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("scheduler.max-threads", std::size_t{1});
  config.set("logger.console", caf::atom("none"));
  // One thread more for the first lane, and one because an ended thread may still count against the
  // limit.
  check_threads(caf_threads + 2);
  auto system = std::make_unique<caf::actor_system>(config);
  // The constructor has stored the system as the current one of this thread. The destructor waits
  // until no thread has it as its current one, and would wait for this thread if another one
  // destroys the engine.
  caf::logger::set_current_actor_system(nullptr);
  return system;
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call.hpp"
#include "run.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace superstep {

namespace detail {
class engine_core;
} // namespace detail

class lane;

/// The current activity of a pool thread, as the watcher sees it.
enum class duty : std::uint8_t { idle, lane, body };

/// One thread and what the watcher knows of it.
class worker {
public:
  std::atomic<duty> at{duty::idle};

  /// Whether it used no CPU since the last look and is not merely waiting for a core. Watcher only.
  [[nodiscard]] bool is_blocked();

private:
  friend class thread_pool;
  std::thread thread_;
  std::atomic<int> kernel_id_{0};
  std::atomic<bool> has_clock_{false};
  clockid_t clock_{};
  std::int64_t cpu_ns_ = 0; // at the last look
};

/// The engine's threads, and the queue of bodies known to be long.
///
/// An order that finds no idle thread starts one, up to a bound. Threads that were not needed for
/// `idle_time` end. The watcher decides how many threads run jobs at the same time: bodies that use
/// the CPU count against the number of workers, blocked bodies do not.
class thread_pool {
public:
  thread_pool(detail::engine_core& core, std::size_t threads_max, std::size_t burners_max,
              std::chrono::milliseconds idle_time);
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  /// Gives a lane to a free thread. False when there is none and none can be started.
  [[nodiscard]] bool can_serve();
  /// Where can_serve() was not asked before, the lane may have to wait for a thread.
  void serve(lane& l, bool took_over);

  /// Calls back, on a thread of the engine, for a run that no lane takes because the engine is
  /// shutting down. Such callbacks may submit further runs, which are refused in their turn.
  void refuse(run_request&& request) noexcept;

  /// Queues a body for the job threads. False when there is none and none can be started: the lane
  /// then runs it itself.
  [[nodiscard]] bool add_job(call& c);
  /// The watcher's look: starts more job threads when those at work only wait.
  void pace();
  /// Whether there is anything the watcher should look after.
  [[nodiscard]] bool is_busy();

  /// No more orders; waits for the threads to return. Those that do not in time are left behind,
  /// and keep the core alive. Afterwards nothing is called back any more.
  void stop(std::chrono::milliseconds grace);

private:
  struct order {
    lane* to_serve = nullptr; ///< null: run jobs
    bool took_over = false;
  };

  void give(order o);                  // with mutex_ held
  [[nodiscard]] bool start_member();   // with mutex_ held
  [[nodiscard]] bool give_jobs_order(); // with mutex_ held
  [[nodiscard]] bool may_grow() const noexcept; // with mutex_ held
  void work(worker& self);
  void run_jobs(worker& self);
  void answer_refused(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] bool is_surplus() const noexcept;  // with mutex_ held
  void retire(worker& self, std::unique_lock<std::mutex>& lock);
  void find_surplus();                             // with mutex_ held
  [[nodiscard]] call* next_job();

  detail::engine_core& core_;
  const std::size_t threads_max_;
  const std::size_t burners_max_;
  const std::chrono::milliseconds idle_time_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<worker>> members_;
  std::deque<order> orders_;
  std::deque<call*> jobs_;  // bounded by the calls alive
  std::deque<run_request> refused_; // bounded by what was submitted before the lanes were closed
  std::size_t idle_ = 0;    // threads waiting for an order
  std::size_t idle_min_ = 0; // the least that were idle since idle_since_
  std::size_t surplus_ = 0;  // threads that the watcher wants to end
  std::chrono::steady_clock::time_point idle_since_{};
  std::thread retired_; // the thread that ended last; the next one that ends joins it
  std::size_t at_jobs_ = 0; // threads in run_jobs(), or ordered to
  std::size_t ended_ = 0;   // threads that have ended
  std::uint64_t jobs_done_ = 0;
  std::uint64_t jobs_done_seen_ = 0;
  unsigned looks_without_progress_ = 0;
  std::chrono::steady_clock::time_point retry_at_{}; // no thread could be started before
  bool stopping_ = false;
  bool is_over_ = false; // stop() has returned, or is about to
};

} // namespace superstep

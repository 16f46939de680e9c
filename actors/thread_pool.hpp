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

/// The activity of a thread of the pool, as the watcher sees it.
enum class duty : std::uint8_t { idle, lane, body };

/// A thread of the pool, and what the watcher knows about it.
class worker {
public:
  std::atomic<duty> at{duty::idle};

  /// Whether it has used no CPU since the last poll and is not waiting for a core. Called by the
  /// watcher only.
  [[nodiscard]] bool is_blocked();

private:
  friend class thread_pool;
  std::thread thread_;
  std::atomic<int> kernel_id_{0};
  std::atomic<bool> has_clock_{false};
  clockid_t clock_{};
  std::int64_t cpu_ns_ = 0; // at the last poll
};

/// The engine's thread pool: threads that serve lanes, and threads that run bodies known to be long
/// from a queue (jobs).
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

  /// Whether a thread is idle, or can be started, for the lane that serve() will be called with
  /// next.
  [[nodiscard]] bool can_serve();
  /// Gives a lane to an idle thread. If can_serve() was not called before, the lane may have to
  /// wait for one.
  void serve(lane& l, bool took_over);

  /// Completes, on a thread of the pool, a run that no lane accepts because the engine is shutting
  /// down. Its callback may submit further runs, which are refused as well.
  void refuse(run_request&& request) noexcept;

  /// Queues a body for the job threads. Returns false if no thread is available and none can be
  /// started; the lane then runs the body itself.
  [[nodiscard]] bool add_job(call& c);
  /// Called by the watcher at each poll: starts more job threads if the current ones are only
  /// waiting, and ends threads that stay idle.
  void pace();
  /// Whether the watcher has a reason to poll.
  [[nodiscard]] bool is_busy();

  /// Accepts no further orders and waits for the threads to end, at most `grace`. Threads that have
  /// not ended by then are detached, and keep the core alive. Afterwards no callback is called.
  void stop(std::chrono::milliseconds grace);

private:
  struct order {
    lane* to_serve = nullptr; ///< null: the thread runs jobs
    bool took_over = false;
  };

  void give(order o);                           // with mutex_ held
  [[nodiscard]] bool start_member();            // with mutex_ held
  [[nodiscard]] bool give_jobs_order();         // with mutex_ held
  [[nodiscard]] bool may_grow() const noexcept; // with mutex_ held
  void work(worker& self);
  void run_jobs(worker& self);
  void answer_refused(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] bool is_surplus() const noexcept; // with mutex_ held
  void retire(worker& self, std::unique_lock<std::mutex>& lock);
  void find_surplus(); // with mutex_ held
  [[nodiscard]] call* next_job();

  detail::engine_core& core_;
  const std::size_t threads_max_;
  const std::size_t burners_max_;
  const std::chrono::milliseconds idle_time_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<worker>> members_;
  std::deque<order> orders_;
  std::deque<call*> jobs_;          // bounded by the number of live calls
  std::deque<run_request> refused_; // bounded by the runs submitted before the lanes were closed
  std::size_t idle_ = 0;            // number of threads that wait for an order
  std::size_t idle_min_ = 0;        // the smallest value of idle_ since idle_since_
  std::size_t surplus_ = 0;         // number of threads that are to end
  std::chrono::steady_clock::time_point idle_since_{};
  std::thread retired_;     // the thread that ended last; the next one to end joins it
  std::size_t at_jobs_ = 0; // number of threads in run_jobs(), or with an order to run it
  std::size_t ended_ = 0;   // number of threads that have ended
  std::uint64_t jobs_done_ = 0;
  std::uint64_t jobs_done_seen_ = 0;
  unsigned looks_without_progress_ = 0;
  // no attempt to start a thread before this time
  std::chrono::steady_clock::time_point retry_at_{};
  bool stopping_ = false;
  bool is_over_ = false; // stop() has returned or is about to return
};

} // namespace superstep

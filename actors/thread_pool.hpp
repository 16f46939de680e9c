// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/thread_clock.hpp"
#include "call.hpp"
#include "run.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace superstep {

namespace detail {
class engine_core;
} // namespace detail

class lane;
struct engine_options;

/// The activity of a thread of the pool: it waits for an order, serves a lane, or runs a body
/// outside a lane.
enum class duty : std::uint8_t { idle, lane, body };

/// A thread of the pool, with the data by which the watcher finds out whether it is blocked.
class worker {
public:
  std::atomic<duty> at{duty::idle};

  /// Records that the thread runs a body outside a lane since `begin`.
  void begin_body(std::chrono::steady_clock::time_point begin) noexcept {
    since_.store(begin.time_since_epoch().count(), std::memory_order_relaxed);
    at.store(duty::body, std::memory_order_release);
  }
  /// Records that the thread, from which a lane was taken, runs a body outside a lane. Has no
  /// effect if the body has returned meanwhile.
  void lose_lane(std::chrono::steady_clock::time_point since) noexcept {
    since_.store(since.time_since_epoch().count(), std::memory_order_relaxed);
    auto served = duty::lane;
    at.compare_exchange_strong(served, duty::body, std::memory_order_release,
                               std::memory_order_relaxed);
  }
  /// Whether the thread runs a body that it has begun before `latest`. Called by the watcher only.
  [[nodiscard]] bool is_hung(std::chrono::steady_clock::time_point latest) const noexcept {
    return at.load(std::memory_order_acquire) == duty::body &&
           since_.load(std::memory_order_relaxed) < latest.time_since_epoch().count();
  }
  /// The CPU time and the state of the thread. Thread-safe.
  [[nodiscard]] thread_clock clock() const noexcept {
    return clock_.load(std::memory_order_relaxed);
  }
  /// Whether the thread has used no CPU time since the last call and is not waiting for a core.
  /// Called by the watcher only.
  [[nodiscard]] bool is_blocked();

private:
  friend class thread_pool;
  std::thread thread_;
  std::atomic<thread_clock> clock_{};
  std::atomic<std::chrono::steady_clock::rep> since_{0}; // when the thread's body began
  std::chrono::nanoseconds used_{}; // the CPU time until the last call of is_blocked()
};

/// The engine's thread pool. Its threads serve lanes, and run queued bodies that are known to be
/// long (jobs).
///
/// Work reaches the threads as orders: serve a lane, or run jobs. If no thread is idle, an order
/// starts one, up to engine_options::threads_max. Threads that were not needed for
/// thread_idle_time end. At each poll the watcher decides how many threads run jobs at the same
/// time. Job threads that use the CPU are limited to one per lane; blocked ones do not count.
///
/// The threads of hung bodies do not count against these limits: for each of them, up to
/// hung_threads_max, the pool may have one more thread.
class thread_pool {
public:
  thread_pool(detail::engine_core& core, const engine_options& options);
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  /// Reserves a thread for the next call of serve(): returns whether one is idle or could be
  /// started.
  [[nodiscard]] bool can_serve();
  /// Gives a lane to an idle thread. If can_serve() was not called before, the lane may have to
  /// wait until a thread is idle.
  /// @param took_over whether the lane was taken from a thread that is still inside a body
  void serve(lane& l, bool took_over);

  /// Completes, on a thread of the pool, a run that no lane accepts because the engine is shutting
  /// down. The run's callback may submit further runs, which are refused as well. After stop() the
  /// run is dropped without a callback.
  void refuse(run_request&& request) noexcept;

  /// Queues a body for the job threads. Returns false if no thread is available and none can be
  /// started; the lane then runs the body itself.
  [[nodiscard]] bool add_job(call& c);
  /// Starts more job threads if the current ones are only waiting, and ends threads that stay idle.
  /// Called by the watcher at each poll.
  void pace();
  /// The number of threads whose bodies hang, at the last poll. Thread-safe.
  [[nodiscard]] std::size_t hung() const noexcept { return hung_.load(std::memory_order_relaxed); }
  /// Whether jobs or orders are queued or jobs run, so that the watcher must keep polling.
  [[nodiscard]] bool is_busy();

  /// Accepts no further orders. Waits for the threads to end and for the callbacks of results that
  /// checkpointers delay, together at most `grace`, whatever bodies and callbacks do. Threads that
  /// have not ended by then are detached and keep the engine_core alive. After stop() returns, no
  /// callback is called.
  void stop(std::chrono::milliseconds grace);

private:
  /// An order for a thread of the pool: serve a lane, or run jobs.
  struct order {
    lane* to_serve = nullptr; ///< null: the thread runs jobs
    bool took_over = false;
  };

  void give(order o);                           // caller holds mutex_
  [[nodiscard]] bool start_member();            // caller holds mutex_
  [[nodiscard]] bool give_jobs_order();         // caller holds mutex_
  [[nodiscard]] bool may_grow() const noexcept; // caller holds mutex_
  // The largest number of threads now; caller holds mutex_.
  [[nodiscard]] std::size_t limit() const noexcept {
    return threads_max_ + std::min(hung(), hung_threads_max_);
  }
  /// Returns the text of a warning that was not given before; empty if there is none.
  [[nodiscard]] std::string note_hung(std::size_t hung); // caller holds mutex_
  void work(worker& self);
  void run_jobs(worker& self);
  [[nodiscard]] bool is_short(std::chrono::nanoseconds taken) const noexcept;
  void answer_refused(std::unique_lock<std::mutex>& lock);
  void provide_answerer(); // caller holds mutex_
  [[nodiscard]] bool await_end(std::unique_lock<std::mutex>& lock,
                               std::chrono::steady_clock::time_point until);
  [[nodiscard]] bool is_surplus() const noexcept; // caller holds mutex_
  void retire(worker& self, std::unique_lock<std::mutex>& lock);
  void find_surplus();                                                // caller holds mutex_
  void start_job_threads(std::size_t computing, std::size_t blocked); // caller holds mutex_
  [[nodiscard]] call* next_job();

  detail::engine_core& core_;
  const std::size_t threads_max_;
  const std::size_t computing_max_;
  const std::chrono::milliseconds idle_time_;
  const std::chrono::milliseconds hung_after_;
  const std::size_t hung_threads_max_;
  const std::chrono::nanoseconds short_serial_body_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<worker>> members_;
  std::deque<order> orders_;
  std::deque<call*> jobs_; // at most one entry per live call
  // at most the runs that were submitted before the lanes were closed
  std::deque<run_request> refused_;
  std::size_t idle_ = 0; // number of threads that wait for an order, including those being started
  std::size_t idle_min_ = 0; // the smallest value of idle_ since idle_since_
  std::size_t surplus_ = 0;  // number of threads that are to end
  std::chrono::steady_clock::time_point idle_since_{};
  std::thread retired_;       // the thread that retired last; the next thread to retire joins it
  std::size_t at_jobs_ = 0;   // number of threads in run_jobs(), or with an order to run it
  std::size_t ended_ = 0;     // number of threads that have ended
  std::size_t answering_ = 0; // number of threads in answer_refused()
  std::uint64_t jobs_done_ = 0;
  std::uint64_t jobs_done_seen_ = 0;
  unsigned polls_without_progress_ = 0;
  std::atomic<std::size_t> hung_{0};
  std::size_t hung_warned_ = 0;        // number of hung bodies in the last warning
  bool has_warned_of_refusal_ = false; // the system has refused a thread
  // no thread is started before this time, because the system has refused the last one
  std::chrono::steady_clock::time_point retry_at_{};
  bool stopping_ = false;
  bool is_over_ = false; // stop() has returned or is about to return
};

} // namespace superstep

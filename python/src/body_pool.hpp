// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/thread_clock.hpp"

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <nanobind/nanobind.h>

namespace superstep::python {

/// A piece of work that needs the GIL, such as the body of a node.
class pool_job : public boost::intrusive_ref_counter<pool_job, boost::thread_safe_counter> {
public:
  pool_job() = default;
  pool_job(const pool_job&) = delete;
  pool_job& operator=(const pool_job&) = delete;
  virtual ~pool_job() = default;
  /// Does the work. The calling thread holds the GIL; the function may release it while it waits.
  virtual void run() noexcept = 0;
};
using pool_job_ptr = boost::intrusive_ptr<pool_job>;

/// The threads that run Python code for an engine. Normally one thread at a time holds the GIL. A
/// further thread cannot make Python code faster, but competes for the GIL.
///
/// If no Python code runs, a thread of the engine executes its job itself, as a guest of the pool:
/// passing a job to another thread takes longer than most jobs. The engine replaces its thread if
/// the job blocks or is long. Jobs that arrive meanwhile are queued, so at most one thread of the
/// engine waits for the GIL.
///
/// Queued jobs are executed by threads of the pool, the runners. Normally one runner executes all
/// of them. If jobs wait while all runners and guests are blocked inside of their jobs, for example
/// in a socket, a watcher admits further runners. It doubles their number every millisecond until
/// one of them uses the CPU, up to `runners_max`. If several threads use the CPU or wait for the
/// GIL, all but one runner stop after their jobs. Runners that were idle for `idle_time` end.
///
/// All of these runners may wait for runs whose jobs are queued, for example in an event loop of
/// their own, for a thread that they have started, or for a lock that the owner of such a run
/// holds. So if `runs_elsewhere` is not zero and no job was taken for `stall_time`, the watcher
/// admits more.
/// @par Threads
/// All members may be called from any thread.
class body_pool {
public:
  static constexpr std::size_t runners_max = 64;             ///< largest number of runners
  static constexpr std::size_t outside_max = 4096;           ///< largest number in outside_scope
  static constexpr auto idle_time = std::chrono::seconds{1}; ///< lifetime of an idle runner
  static constexpr auto tick = std::chrono::milliseconds{1}; ///< interval of the watcher
  /// CPU time that runners use without finishing a job, after which one more runner is admitted:
  /// their jobs may wait actively for a job in the queue.
  static constexpr auto spinning_time = std::chrono::milliseconds{20};
  /// Time without a new job, and with less CPU time than `spinning_time`, after which twice as many
  /// runners may work.
  static constexpr auto stall_time = std::chrono::milliseconds{250};

  body_pool();
  body_pool(const body_pool&) = delete;
  body_pool& operator=(const body_pool&) = delete;
  /// @pre stop() has returned true
  ~body_pool();

  /// Queues a job. Returns false if the pool was stopped; the job is not run then.
  bool add(pool_job_ptr job);
  /// Executes a job on the calling thread, a thread of the engine without the GIL, if no other job
  /// is queued or executed, and there are fewer than `runners_max` runners. Returns false
  /// otherwise; the job is not run then.
  bool run_here(pool_job_ptr job);
  /// Stops the pool: drops queued jobs, and waits for the runners to end and for the guests to
  /// leave, at most `grace`. The caller must not hold the GIL.
  /// @returns whether all of them have. Otherwise the pool must not be destroyed.
  bool stop(std::chrono::milliseconds grace);
  /// Number of live runs that other threads than the main thread have started: a job may wait for
  /// one of them.
  std::atomic<std::int64_t> runs_elsewhere{0};
  /// Whether a further runner may wait in an outside_scope.
  [[nodiscard]] bool has_room_outside() const;
  /// Number of runners and guests now, and the largest number so far. @{
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t size_max() const;
  /// @}

  class outside_scope;

private:
  class guest;
  /// The activity of a runner or a guest.
  enum class phase : std::uint8_t { idle, waits_for_gil, inside, outside };

  struct runner {
    std::atomic<phase> at{phase::idle};
    std::atomic<thread_clock> clock{};
    bool yields = false;      // whether it stops, because enough others work
    std::int64_t cpu_ns = -1; // used until the last look of the watcher; -1: not known
  };
  /// The numbers of runners by activity, as the watcher sees them.
  struct sight {
    std::size_t waiting = 0; // for the GIL
    std::size_t burning = 0; // use the CPU most of the time, or wait for a core
    std::size_t blocked = 0;
    std::int64_t cpu_ns = 0; // used since the last look
  };

  void admit(std::size_t more); // caller holds mutex_
  bool start_runner();          // caller holds mutex_
  runner* go_outside();         // null if the calling thread stays inside
  void come_back(runner& self);
  void work(runner& self);
  void run_jobs(runner& self);
  [[nodiscard]] pool_job_ptr next_job(runner& self);
  void wake_watcher(); // caller holds mutex_
  void watch();
  [[nodiscard]] sight look();                          // caller holds mutex_
  void look_at(runner& r, sight& seen) const noexcept; // caller holds mutex_
  [[nodiscard]] std::size_t wanted(const sight& seen); // caller holds mutex_
  [[nodiscard]] bool is_blocked(runner& r, std::int64_t& cpu_ns) const noexcept;
  void widen_if_stalled(); // caller holds mutex_

  mutable std::mutex mutex_;
  std::condition_variable admitted_changed_;
  std::condition_variable watcher_wanted_;
  std::condition_variable ended_;
  std::deque<pool_job_ptr> jobs_;
  std::vector<std::unique_ptr<runner>> runners_;
  std::vector<runner*> guests_;
  std::size_t active_ = 0;   // runners that execute jobs, or were admitted to, and guests
  std::size_t idle_ = 0;     // runners that wait to be admitted
  std::size_t admitted_ = 0; // idle runners that may start
  std::size_t outside_ = 0;  // runners in an outside_scope, which are not active
  // Runners that are to stop after their job. All but one of those that use the CPU or wait for the
  // GIL: a blocked runner looks for a moment as if it were needed when it wants the GIL back.
  std::size_t surplus_ = 0;
  std::size_t room_ = runners_max; // largest number of active runners
  std::size_t size_max_ = 0;
  std::uint64_t jobs_done_ = 0;
  std::uint64_t jobs_done_seen_ = 0;
  std::int64_t since_last_look_ = 0; // in ns, of the latest look
  std::chrono::steady_clock::time_point looked_at_{};
  std::chrono::steady_clock::time_point stalled_since_{};
  std::int64_t cpu_without_progress_ = 0; // in ns, used by runners since a job was taken
  // Whether the runners have used `spinning_time` since a job was taken. The runner that was
  // admitted then must take a job, although it is one of several that use the CPU.
  bool is_without_progress_ = false;
  bool is_watching_ = false;
  bool stopping_ = false;
  bool watcher_ended_ = false;
};

/// Releases the GIL while the calling thread waits for what other jobs may have to do, for example
/// for the call that a wrapper has asked for. A runner in the scope is not one of the
/// `runners_max`, so that the jobs that it waits for always find a runner. Other threads, and
/// runners beyond `outside_max`, only release the GIL.
class body_pool::outside_scope {
public:
  /// The caller holds the GIL.
  explicit outside_scope(body_pool& pool);
  outside_scope(const outside_scope&) = delete;
  outside_scope& operator=(const outside_scope&) = delete;
  /// Takes the GIL again.
  ~outside_scope();

private:
  body_pool& pool_;
  PyThreadState* state_;
  runner* self_;
};

} // namespace superstep::python

// SPDX-License-Identifier: Apache-2.0
// Leases on the threads of a database. The runs of one process first queue for a thread in a
// lease_queue. The run at the head of the queue then competes with other processes for a file lock
// (thread_locks.cpp). A file lock cannot notify a waiting process, so timers of the writer thread
// poll it.
#include "sqlite_lease_manager.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace superstep::detail {

namespace {

/// The number of runs of a checkpointer that wait for another process.
using waiting_count = std::atomic<std::size_t>;

/// A run that is at the head of the queue of this process and waits for another process to release
/// the file lock.
struct waiting_run {
  std::weak_ptr<write_queue> writer; // weak, because a timer of the writer owns this object
  std::shared_ptr<thread_locks> locks;
  std::string thread_id;
  lease_ptr own;
  std::function<void(result<lease_ptr>)> done;
  std::chrono::microseconds pause{1'000}; // time until the next attempt
  std::shared_ptr<waiting_count> waiting;
  bool is_counted = false; // in `waiting`, since the first attempt that failed

  void end(result<lease_ptr> with) {
    if (std::exchange(is_counted, false))
      --*waiting;
    done(std::move(with));
  }
};

/// Returns the longest pause between two attempts of a run. The system searches a list of all locks
/// at each attempt, so the pause grows with the number of waiting runs.
std::chrono::microseconds pause_max(std::size_t waiting) {
  constexpr auto pause_of_few = std::chrono::microseconds{50'000};
  constexpr auto pause_per_run = std::chrono::microseconds{500};
  return std::max(pause_of_few, pause_per_run * static_cast<std::int64_t>(waiting));
}

/// Tries to lock the thread. If another process holds the lock, schedules the next attempt. The
/// pause between attempts doubles up to pause_max().
/// @param is_stopping whether the writer stops; the run then gets an error instead of another
/// attempt
void retry_lock(const std::shared_ptr<waiting_run>& run, bool is_stopping) {
  const auto writer = run->writer.lock();
  if (const auto place = run->locks->try_lock(run->thread_id)) {
    run->end(with_lock(std::move(run->own), run->locks, run->thread_id, *place));
  } else if (is_stopping || !writer) {
    run->end(
        error{checkpoint_errc::in_use, "thread '" + run->thread_id +
                                           "' is in use by another process, and the checkpointer "
                                           "was closed while a run waited for it"});
  } else {
    if (!std::exchange(run->is_counted, true))
      ++*run->waiting;
    const auto when = write_queue::clock::now() + run->pause;
    run->pause = std::min(run->pause * 2, pause_max(*run->waiting));
    writer->run_at(when, [run](bool stops) { retry_lock(run, stops); });
  }
}

} // namespace

sqlite_lease_manager::sqlite_lease_manager(const std::string& path,
                                           const std::shared_ptr<write_queue>& writer)
    : locks_{std::make_shared<thread_locks>(path)}, writer_{writer} {}

void sqlite_lease_manager::take(const std::string& thread_id, busy_policy choice,
                                std::function<void(result<lease_ptr>)> done) {
  auto waiting = std::make_shared<waiting_run>();
  waiting->writer = writer_;
  waiting->locks = locks_;
  waiting->thread_id = thread_id;
  waiting->done = std::move(done);
  waiting->waiting = waiting_;
  queue_->take(thread_id, choice, [waiting, choice](result<lease_ptr> own) {
    if (!own) {
      waiting->done(std::move(own));
      return;
    }
    waiting->own = std::move(*own);
    if (choice == busy_policy::wait) {
      retry_lock(waiting, false);
      return;
    }
    auto& locks = waiting->locks;
    const auto place = choice == busy_policy::take_over ? locks->take_over(waiting->thread_id)
                                                        : locks->try_lock(waiting->thread_id);
    if (place) {
      waiting->done(with_lock(std::move(waiting->own), locks, waiting->thread_id, *place));
      return;
    }
    waiting->own.reset(); // before the callback, so that the next run in the queue can proceed
    waiting->done(error{checkpoint_errc::in_use,
                        "thread '" + waiting->thread_id +
                            "' is in use by another process: wait for it; a run may also take "
                            "it over (thread_options::on_busy)"});
  });
}

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
// Leases on the threads of a database. Runs of one process queue in lease_queue.cpp; the run at the
// head of the queue then competes with other processes for a file lock (thread_locks.cpp). File
// locks cannot notify a waiter, so the lock is polled, by timers of the writer thread.
#include "sqlite_lease_manager.hpp"

#include <algorithm>
#include <utility>

namespace superstep::detail {

namespace {

/// A run that has the lease of this process and waits for the lock held by another process.
struct waiting_run {
  std::weak_ptr<sqlite_writer> writer; // weak: the writer owns the timer that owns this object
  std::shared_ptr<thread_locks> locks;
  std::string thread_id;
  lease_ptr own;
  std::function<void(result<lease_ptr>)> done;
  std::chrono::milliseconds pause{1};
};

/// Tries to lock the thread, and schedules the next attempt if another process holds it. The pause
/// doubles up to 50 ms.
/// @param is_stopping whether the writer is being closed: the run is refused then
void retry_lock(const std::shared_ptr<waiting_run>& run, bool is_stopping) {
  constexpr auto pause_max = std::chrono::milliseconds{50};
  const auto writer = run->writer.lock();
  if (const auto place = run->locks->try_lock(run->thread_id)) {
    run->done(with_lock(std::move(run->own), run->locks, run->thread_id, *place));
  } else if (is_stopping || !writer) {
    run->done(
        error{checkpoint_errc::in_use, "thread '" + run->thread_id +
                                           "' is in use by another process, and the checkpointer "
                                           "was closed while a run waited for it"});
  } else {
    const auto when = sqlite_writer::clock::now() + run->pause;
    run->pause = std::min(run->pause * 2, pause_max);
    writer->run_at(when, [run](bool stops) { retry_lock(run, stops); });
  }
}

} // namespace

sqlite_lease_manager::sqlite_lease_manager(const std::string& path,
                                           const std::shared_ptr<sqlite_writer>& writer)
    : locks_{std::make_shared<thread_locks>(path)}, writer_{writer} {}

void sqlite_lease_manager::take(const std::string& thread_id, busy_policy choice,
                                std::function<void(result<lease_ptr>)> done) {
  auto waiting = std::make_shared<waiting_run>();
  waiting->writer = writer_;
  waiting->locks = locks_;
  waiting->thread_id = thread_id;
  waiting->done = std::move(done);
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
    waiting->own.reset(); // first, so that the next run in the queue can proceed
    waiting->done(error{checkpoint_errc::in_use,
                        "thread '" + waiting->thread_id +
                            "' is in use by a run of another process: wait for it, or take it "
                            "over (thread_options::on_busy)"});
  });
}

} // namespace superstep::detail

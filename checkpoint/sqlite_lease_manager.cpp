// SPDX-License-Identifier: Apache-2.0
// Leases on the threads of a database. The runs of one process first queue for a thread in a
// lease_queue. The run at the head of the queue then competes with other processes for a file lock
// (thread_locks.cpp). A file lock cannot notify a waiting process, so timers of the writer thread
// poll it.
#include "sqlite_lease_manager.hpp"

#include <algorithm>
#include <utility>

namespace superstep::detail {

namespace {

/// A run that is at the head of the queue of this process and waits for another process to release
/// the file lock.
struct waiting_run {
  std::weak_ptr<write_queue> writer; // weak, because a timer of the writer owns this object
  std::shared_ptr<thread_locks> locks;
  std::string thread_id;
  lease_ptr own;
  std::function<void(result<lease_ptr>)> done;
  std::chrono::milliseconds pause{1}; // time until the next attempt
};

/// Tries to lock the thread. If another process holds the lock, schedules the next attempt. The
/// pause between attempts doubles up to 50 ms.
/// @param is_stopping whether the writer stops; the run then gets an error instead of another
/// attempt
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
    const auto when = write_queue::clock::now() + run->pause;
    run->pause = std::min(run->pause * 2, pause_max);
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

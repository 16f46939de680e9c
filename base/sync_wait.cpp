// SPDX-License-Identifier: Apache-2.0
// Implements sync_wait(): a single-threaded executor for programs and tests without an engine. In
// an engine, lanes (actors/lane.hpp) implement the same interface.
#include <superstep/base/await.hpp>

#include <condition_variable>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <utility>

namespace superstep::detail {

namespace {

/// Runs coroutines on one thread. It has a queue of coroutines to resume and a list of timers.
class thread_executor final : public executor {
public:
  void resume_soon(wait_ptr w) noexcept override {
    {
      const auto lock = std::scoped_lock{mutex_};
      if (is_over_)
        return;
      ready_.push_back(std::move(w));
    }
    changed_.notify_one();
  }

  void wake_at(time_point when, wait_ptr w) noexcept override {
    alarms_.emplace(when, std::move(w));
  }

  [[nodiscard]] time_point now() const noexcept override {
    return std::chrono::steady_clock::now();
  }

  /// Starts the call at once, before fork() returns to the parent.
  void fork(execution_context& parent, task<void> body,
            boost::intrusive_ptr<fork_join> join) override {
    auto& call = calls_.emplace_back(std::move(body), std::move(join), parent.where);
    call.self = std::prev(calls_.end());
    call.body.start_in(call.at);
    call.body.handle().resume();
    end_if_done(call);
  }

  /// Resumes ready coroutines and ends expired waits until done(context) is true. Sleeps when there
  /// is nothing to do.
  void run(bool (*done)(void*), void* context) {
    while (!done(context)) {
      auto w = next_ready();
      // If the frame was destroyed while its wait was queued, the wait is skipped.
      if (!w || !w->resumable())
        continue;
      auto* const call = static_cast<forked*>(w->owner());
      w->frame().resume();
      if (call != nullptr)
        end_if_done(*call);
    }
    calls_.clear(); // destroys calls whose parent no longer exists
    // Abandoned waits refer to this executor, which refers to them. Clearing the lists breaks the
    // cycle.
    alarms_.clear();
    const auto lock = std::scoped_lock{mutex_};
    ready_.clear();
    is_over_ = true;
  }

private:
  /// A forked call and its execution context, whose owner is the call. The coroutine refers to the
  /// context.
  struct forked {
    forked(task<void> b, boost::intrusive_ptr<fork_join> j, executor* where)
        : at{where, this}, body{std::move(b)}, join{std::move(j)} {}
    execution_context at;
    task<void> body;
    boost::intrusive_ptr<fork_join> join;
    std::list<forked>::iterator self; ///< its position in `calls_`
  };

  wait_ptr next_ready() {
    while (!alarms_.empty() && alarms_.begin()->first <= now()) {
      auto due = std::move(alarms_.begin()->second);
      alarms_.erase(alarms_.begin());
      due->end();
    }
    auto lock = std::unique_lock{mutex_};
    const auto some = [this] { return !ready_.empty(); };
    if (alarms_.empty())
      changed_.wait(lock, some);
    else
      changed_.wait_until(lock, alarms_.begin()->first, some);
    if (ready_.empty())
      return nullptr;
    auto first = std::move(ready_.front());
    ready_.pop_front();
    return first;
  }

  /// If the call has ended, destroys it and reports its end to the join of its parent.
  void end_if_done(forked& call) {
    if (!call.body.done())
      return;
    const auto join = std::move(call.join);
    calls_.erase(call.self);
    join->one_done();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<wait_ptr> ready_; // guarded by mutex_; at most one entry per suspended frame
  bool is_over_ = false;      // guarded by mutex_
  std::multimap<time_point, wait_ptr> alarms_; // used by the executor's thread only
  std::list<forked> calls_;                    // used by the executor's thread only
};

} // namespace

boost::intrusive_ptr<executor> make_thread_executor() {
  return new thread_executor{};
}

void drive(execution_context& at, std::coroutine_handle<> frame, bool (*done)(void*),
           void* context) {
  frame.resume();
  static_cast<thread_executor*>(at.where)->run(done, context);
}

} // namespace superstep::detail

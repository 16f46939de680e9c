// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/task.hpp>

#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <utility>

namespace superstep::test {

/// Runs coroutines on the test's thread with virtual time, which moves only by advance().
class manual_executor final : public executor {
public:
  manual_executor() { add_ref_for_the_stack(); }

  void resume_soon(wait_ptr w) noexcept override {
    const auto lock = std::scoped_lock{mutex_};
    ready_.push_back(std::move(w));
  }
  void wake_at(time_point when, wait_ptr w) noexcept override {
    alarms_.emplace(when, std::move(w));
  }
  [[nodiscard]] time_point now() const noexcept override { return now_; }
  void fork(execution_context& parent, task<void> body,
            boost::intrusive_ptr<fork_join> join) override {
    forks_.emplace_back(execution_context{parent.where, nullptr}, std::move(body), std::move(join),
                        false);
    auto& f = forks_.back();
    f.body.start_in(f.at);
    f.body.handle().resume();
    report_forks();
  }

  /// Starts a coroutine and runs it until it waits for something external.
  template <class T>
  void start(task<T>& body) {
    body.start_in(at_);
    body.handle().resume();
    run_ready();
  }
  void run_ready() {
    for (;;) {
      auto first = wait_ptr{};
      {
        const auto lock = std::scoped_lock{mutex_};
        if (ready_.empty())
          return;
        first = std::move(ready_.front());
        ready_.pop_front();
      }
      if (first->resumable())
        first->frame().resume();
      report_forks();
    }
  }
  /// Advances the virtual time and resumes each waiting coroutine at its time.
  void advance(std::chrono::nanoseconds by) {
    const auto end = now_ + by;
    while (!alarms_.empty() && alarms_.begin()->first <= end) {
      now_ = std::max(now_, alarms_.begin()->first);
      const auto due = std::move(alarms_.begin()->second);
      alarms_.erase(alarms_.begin());
      due->end();
      run_ready();
    }
    now_ = end;
  }
  /// Runs the coroutine to its end, skipping all delays. Returns the virtual time it took.
  template <class T>
  std::chrono::nanoseconds finish(task<T>& body) {
    const auto began = now_;
    start(body);
    while (!body.done() && !alarms_.empty())
      advance(alarms_.begin()->first - now_);
    return now_ - began;
  }

private:
  struct forked {
    forked(execution_context h, task<void> b, boost::intrusive_ptr<fork_join> j, bool r)
        : at{h}, body{std::move(b)}, join{std::move(j)}, reported{r} {}
    execution_context at;
    task<void> body;
    boost::intrusive_ptr<fork_join> join;
    bool reported;
  };
  void report_forks() {
    for (auto& f : forks_)
      if (!f.reported && f.body.done()) {
        f.reported = true;
        f.join->one_done();
      }
  }
  // The object is on a test's stack, so the references of waits must never reach zero.
  void add_ref_for_the_stack() noexcept { intrusive_ptr_add_ref(static_cast<executor*>(this)); }

  std::mutex mutex_;
  std::deque<wait_ptr> ready_;
  std::multimap<time_point, wait_ptr> alarms_;
  std::list<forked> forks_;
  time_point now_{std::chrono::hours{1}};
  execution_context at_{this, nullptr};
};

} // namespace superstep::test

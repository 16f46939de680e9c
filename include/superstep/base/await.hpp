// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/base/task.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace superstep {

namespace detail {

template <class T>
class callback_wait final : public wait {
public:
  using wait::wait;

  void complete(T value) {
    if (!claim())
      return;
    value_.emplace(std::move(value));
    publish();
  }

  void on_abandon(std::function<void()> stop) {
    {
      const auto lock = std::scoped_lock{mutex_};
      if (!abandoned()) {
        stop_ = std::move(stop);
        return;
      }
    }
    stop();
  }

  void abandon() noexcept override {
    auto stop = std::function<void()>{};
    {
      const auto lock = std::scoped_lock{mutex_};
      wait::abandon();
      stop = std::exchange(stop_, nullptr);
    }
    if (stop)
      stop();
  }

  T take() { return std::move(*value_); }

private:
  std::mutex mutex_; // on_abandon() may be called by the I/O thread while the frame goes away
  std::function<void()> stop_;
  std::optional<T> value_;
};

} // namespace detail

/// Ends the wait of the coroutine that awaits an await_callback(). Copyable; the first call wins,
/// later ones and calls after the coroutine has gone do nothing. Any thread.
template <class T>
class completer {
public:
  explicit completer(boost::intrusive_ptr<detail::callback_wait<T>> wait)
      : wait_{std::move(wait)} {}

  void operator()(T value) const { wait_->complete(std::move(value)); }
  [[nodiscard]] bool abandoned() const noexcept { return wait_->abandoned(); }
  /// Called at most once, if the coroutine goes away before the completer was called; at once if it
  /// has gone already. Must be thread-safe and short (post the cancellation to its own thread).
  void on_abandon(std::function<void()> stop) const { wait_->on_abandon(std::move(stop)); }

private:
  boost::intrusive_ptr<detail::callback_wait<T>> wait_;
};

namespace detail {

template <class T, class Start>
class callback_awaiter {
public:
  explicit callback_awaiter(Start begin) : begin_{std::move(begin)} {}
  callback_awaiter(const callback_awaiter&) = delete;
  callback_awaiter& operator=(const callback_awaiter&) = delete;
  ~callback_awaiter() {
    if (wait_)
      wait_->abandon();
  }
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    auto keep =
        boost::intrusive_ptr<callback_wait<T>>{new callback_wait<T>{frame, *frame.promise().at}};
    wait_ = keep;
    // It may complete on another thread, and the frame, this awaiter in it, may be gone before the
    // call returns: what is called lives on the stack.
    auto begin = std::move(begin_);
    begin(completer<T>{std::move(keep)});
  }
  T await_resume() { return std::exchange(wait_, nullptr)->take(); }

private:
  Start begin_;
  boost::intrusive_ptr<callback_wait<T>> wait_;
};

} // namespace detail

/// Suspends the coroutine, calls begin(completer<T>) and resumes it, in its home, with the value
/// given to the completer. The one bridge from callbacks (Asio, threads) to our coroutines.
template <class T, class Start>
[[nodiscard]] auto await_callback(Start begin) {
  return detail::callback_awaiter<T, Start>{std::move(begin)};
}

/// Suspends the coroutine until the time has come (1 ms precision). No thread sleeps.
class [[nodiscard]] sleep_until {
public:
  explicit sleep_until(execution::time_point when) noexcept : when_{when} {}
  sleep_until(const sleep_until&) = delete;
  sleep_until& operator=(const sleep_until&) = delete;
  ~sleep_until() {
    if (wait_)
      wait_->abandon();
  }
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    begin(frame, *frame.promise().at);
  }
  void await_resume() noexcept { wait_.reset(); }

protected:
  void begin(std::coroutine_handle<> frame, home& at);
  execution::time_point when_;
  wait_ptr wait_;
};

/// The same, counted from now.
class [[nodiscard]] sleep_for : public sleep_until {
public:
  explicit sleep_for(std::chrono::nanoseconds length) noexcept : sleep_until{{}}, length_{length} {}
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    when_ = frame.promise().at->where->now() + length_;
    sleep_until::await_suspend(frame);
  }

private:
  std::chrono::nanoseconds length_;
};

/// The home of the coroutine that awaits it: `auto& at = co_await this_home{};`
struct this_home {
  home* at = nullptr;
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> frame) noexcept {
    at = frame.promise().at;
    return false;
  }
  home& await_resume() const noexcept { return *at; }
};

/// What became of one call of when_all(): a value, or the exception it threw. Neither: it was
/// killed.
template <class T>
struct settled {
  std::optional<T> value;
  std::exception_ptr failure;
};

namespace detail {

/// Where forked calls leave what became of them. A function that was killed may run on: what it
/// brings after its parent has read is dropped.
template <class T>
class outcomes {
public:
  explicit outcomes(std::size_t calls) : all_(calls) {}

  void put(std::size_t index, settled<T>&& one) {
    const auto lock = std::scoped_lock{mutex_};
    if (!all_.empty())
      all_[index] = std::move(one);
  }
  [[nodiscard]] std::vector<settled<T>> take() {
    const auto lock = std::scoped_lock{mutex_};
    return std::exchange(all_, {});
  }

private:
  std::mutex mutex_;
  std::vector<settled<T>> all_;
};

template <class T>
task<void> run_one(std::shared_ptr<outcomes<T>> all, std::size_t index, task<T> body) {
  auto mine = settled<T>{};
  try {
    mine.value.emplace(co_await body);
  } catch (...) {
    mine.failure = std::current_exception();
  }
  all->put(index, std::move(mine));
}

struct join_awaiter {
  boost::intrusive_ptr<fork_join> join;
  wait_ptr wait{};
  explicit join_awaiter(boost::intrusive_ptr<fork_join> j) : join{std::move(j)} {}
  join_awaiter(const join_awaiter&) = delete;
  join_awaiter& operator=(const join_awaiter&) = delete;
  ~join_awaiter() {
    if (wait)
      wait->abandon();
  }
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    wait = new superstep::wait{frame, *frame.promise().at};
    join->arm(wait);
  }
  void await_resume() noexcept { wait.reset(); }
};

} // namespace detail

/// Runs every task as a call of its own, all in parallel, in an actor each; blocking bodies overlap
/// too. Resumes when all have ended. Results stand in the order of the tasks. When the awaiting
/// coroutine goes away its calls are cancelled.
template <class T>
task<std::vector<settled<T>>> when_all(std::vector<task<T>> bodies) {
  auto& at = co_await this_home{};
  const auto n = bodies.size();
  auto all = std::make_shared<detail::outcomes<T>>(n);
  auto join = boost::intrusive_ptr<fork_join>{new fork_join{n}};
  for (auto i = std::size_t{0}; i < n; ++i)
    at.where->fork(at, detail::run_one<T>(all, i, std::move(bodies[i])), join);
  auto joined = detail::join_awaiter{join};
  co_await joined;
  co_return all->take();
}

} // namespace superstep

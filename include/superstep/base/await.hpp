// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/task.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace superstep {

namespace detail {

/// A wait that ends with a result. callback_awaiter and completer share it.
template <class T>
class callback_wait final : public wait {
public:
  using wait::wait;

  /// Stores the value and resumes the coroutine, unless the wait has ended or was abandoned. If the
  /// coroutine is not suspended yet, suspend() returns false instead.
  void complete(T value) {
    if (!claim())
      return;
    value_.emplace(std::move(value));
    if (stage_.exchange(stage::complete, std::memory_order_acq_rel) == stage::suspended)
      publish();
  }
  /// Suspends the coroutine, which has started the operation. Returns false if the operation has
  /// completed already. If it returns true, the frame may be destroyed at any time.
  [[nodiscard]] bool suspend() noexcept {
    return stage_.exchange(stage::suspended, std::memory_order_acq_rel) == stage::starting;
  }

  /// Sets the function that cancels the operation; calls it at once if the frame is already gone.
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

  /// Marks the frame as destroyed and calls the function of on_abandon().
  void abandon() noexcept override {
    auto stop = std::function<void()>{};
    {
      const auto lock = std::scoped_lock{mutex_};
      wait::abandon();
      stop = std::exchange(stop_, nullptr);
    }
    // Outside the lock: the function may call arbitrary code.
    if (stop)
      stop();
  }

  /// Returns the result. @pre complete() has ended the wait
  T take() { return std::move(*value_); }

private:
  /// The progress of the start: suspend() and complete() exclude each other by it.
  enum class stage : std::uint8_t { starting, suspended, complete };

  std::atomic<stage> stage_{stage::starting};
  std::mutex mutex_; // an I/O thread may call on_abandon() while the frame is destroyed
  std::function<void()> stop_;
  std::optional<T> value_;
};

} // namespace detail

/// Resumes the coroutine that awaits an await_callback(). Copyable. The first call wins; later
/// calls, and calls after the coroutine was destroyed, have no effect.
/// @par Threads
/// May be called from any thread.
template <class T>
class completer {
public:
  /// Creates the completer of a wait; for await_callback().
  explicit completer(boost::intrusive_ptr<detail::callback_wait<T>> wait)
      : wait_{std::move(wait)} {}

  /// Passes the result to the coroutine and schedules the coroutine in its executor. If the
  /// function that starts the operation has not returned yet, the coroutine continues when it
  /// returns. The coroutine never runs inside this call.
  /// @param value the result of the operation
  void operator()(T value) const { wait_->complete(std::move(value)); }
  /// Whether the coroutine was destroyed while it waited, so that the result is not needed.
  [[nodiscard]] bool abandoned() const noexcept { return wait_->abandoned(); }
  /// Registers a function that cancels the operation. It is called at most once: when the coroutine
  /// is destroyed before completion, or at once if that has already happened. It may run on any
  /// thread and must be short, e.g. post the cancellation to the operation's own thread.
  void on_abandon(std::function<void()> stop) const { wait_->on_abandon(std::move(stop)); }

private:
  boost::intrusive_ptr<detail::callback_wait<T>> wait_;
};

namespace detail {

/// Awaiter of await_callback(); its destructor abandons the wait.
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
  bool await_suspend(std::coroutine_handle<Promise> frame) {
    const auto keep =
        boost::intrusive_ptr<callback_wait<T>>{new callback_wait<T>{frame, *frame.promise().at}};
    wait_ = keep;
    {
      // Moved to the stack, so that what the function holds is released before the suspension.
      auto begin = std::move(begin_);
      begin(completer<T>{keep});
    }
    return keep->suspend();
  }
  T await_resume() { return std::exchange(wait_, nullptr)->take(); }

private:
  Start begin_;
  boost::intrusive_ptr<callback_wait<T>> wait_;
};

} // namespace detail

/// Awaits an operation that reports its end by a callback, such as one of Asio or of another
/// thread. Starts the operation and suspends the coroutine until the callback calls the completer,
/// unless it calls it before `begin` returns. The coroutine is resumed in its executor.
///
/// g++ 12 destroys the captures of a lambda inside a co_await expression twice. Give a lambda that
/// captures by value a name first: `auto start = [owner](completer<T> done) { ... };`.
/// @tparam T type of the result
/// @param begin starts the operation: `begin(completer<T>)`. Called once, on the coroutine's
/// thread. It must not throw after it has started the operation; co_await throws what it throws.
/// @return an awaitable for one co_await, whose result is the value passed to the completer
template <class T, class Start>
[[nodiscard]] auto await_callback(Start begin) {
  return detail::callback_awaiter<T, Start>{std::move(begin)};
}

/// An awaitable that suspends the coroutine until a point in time (1 ms precision). No thread is
/// blocked. Use each object for one co_await.
class [[nodiscard]] sleep_until {
public:
  /// @param when a point in time of std::chrono::steady_clock; a past one resumes the coroutine
  /// soon
  explicit sleep_until(executor::time_point when) noexcept : when_{when} {}
  sleep_until(const sleep_until&) = delete;
  sleep_until& operator=(const sleep_until&) = delete;
  /// Cancels the timer if the coroutine is destroyed while it waits.
  ~sleep_until() {
    if (wait_)
      wait_->abandon();
  }
  /// Always suspends.
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  /// Starts the timer.
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    begin(frame, *frame.promise().at);
  }
  /// Called when the timer has ended.
  void await_resume() noexcept { wait_.reset(); }

protected:
  /// Registers the wait with the executor.
  void begin(std::coroutine_handle<> frame, execution_context& at);
  executor::time_point when_; ///< end of the wait
  wait_ptr wait_;             ///< wait for the timer; null before the co_await
};

/// An awaitable that suspends the coroutine for a duration (1 ms precision), measured from the
/// co_await. No thread is blocked. Use each object for one co_await.
class [[nodiscard]] sleep_for : public sleep_until {
public:
  /// @param length the duration; zero or less resumes the coroutine soon, and more than 100 years
  /// count as 100 years
  explicit sleep_for(std::chrono::nanoseconds length) noexcept
      : sleep_until{{}}, length_{length < longest ? length : longest} {}
  /// Computes the end of the wait and starts the timer.
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    when_ = frame.promise().at->where->now() + length_;
    sleep_until::await_suspend(frame);
  }

private:
  static constexpr auto longest = std::chrono::nanoseconds{std::chrono::hours{24 * 365 * 100}};
  std::chrono::nanoseconds length_;
};

/// An awaitable that returns the execution context of the awaiting coroutine, without suspending
/// it: `auto& at = co_await this_context{};`
struct this_context {
  execution_context* at = nullptr; ///< set by await_suspend()
  /// Returns false, so that await_suspend() is called, which has access to the coroutine.
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  /// Stores the coroutine's execution context and resumes the coroutine at once.
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> frame) noexcept {
    at = frame.promise().at;
    return false;
  }
  /// Returns the execution context; it outlives the coroutine.
  execution_context& await_resume() const noexcept { return *at; }
};

/// The outcome of one task of when_all(): a value, or the exception that the task threw. Both
/// members are empty if the task's actor was killed.
template <class T>
struct settled {
  std::optional<T> value;     ///< the result of the task
  std::exception_ptr failure; ///< the exception that the task threw
};

namespace detail {

/// The outcomes of forked calls. A killed call may still be running on another thread. An outcome
/// that it stores after the parent has called take() is dropped.
template <class T>
class outcomes {
public:
  explicit outcomes(std::size_t calls) : all_(calls) {}

  /// Stores the outcome of one call; may be called from any thread.
  void put(std::size_t index, settled<T>&& one) {
    const auto lock = std::scoped_lock{mutex_};
    if (!all_.empty())
      all_[index] = std::move(one);
  }
  /// Returns all outcomes. Later calls of put() have no effect.
  [[nodiscard]] std::vector<settled<T>> take() {
    const auto lock = std::scoped_lock{mutex_};
    return std::exchange(all_, {});
  }

private:
  std::mutex mutex_;
  std::vector<settled<T>> all_;
};

/// Runs one task of when_all() and stores its outcome.
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

/// Suspends the parent until all forked calls have ended.
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

/// Runs all tasks concurrently. In the engine each task runs in an actor, so tasks that block
/// overlap as well. Destroying the returned task cancels them. Only coroutines in an executor, such
/// as the bodies of nodes and tools, can await the returned task.
///
/// @param bodies the tasks; none may be empty or already started
/// @return the outcomes in the order of the tasks, after all tasks have ended. Exceptions of tasks
/// are in the outcomes and are not rethrown
template <class T>
task<std::vector<settled<T>>> when_all(std::vector<task<T>> bodies) {
  auto& at = co_await this_context{};
  const auto n = bodies.size();
  auto all = std::make_shared<detail::outcomes<T>>(n);
  auto join = boost::intrusive_ptr<fork_join>{new fork_join{n}};
  for (auto i = std::size_t{0}; i < n; ++i)
    at.where->fork(at, detail::run_one<T>(all, i, std::move(bodies[i])), join);
  auto joined = detail::join_awaiter{join};
  co_await joined;
  co_return all->take();
}

namespace detail {
/// Resumes `frame`, whose execution context is `at`, and runs its executor until done(context).
void drive(execution_context& at, std::coroutine_handle<> frame, bool (*done)(void*),
           void* context);
/// Creates the single-threaded executor of sync_wait().
[[nodiscard]] boost::intrusive_ptr<executor> make_thread_executor();
} // namespace detail

/// Runs a coroutine to its end on the calling thread, which sleeps while the coroutine waits. For
/// programs and tests without an engine. The tasks of when_all() alternate at their suspension
/// points. Do not call it in a coroutine or on the thread of an io_runtime: it blocks the thread.
///
/// @param body the coroutine; must not be empty or already started
/// @return the coroutine's result
/// @throws what the coroutine throws
template <class T>
T sync_wait(task<T> body) {
  auto where = detail::make_thread_executor();
  auto at = execution_context{where.get(), nullptr};
  body.start_in(at);
  detail::drive(
      at, body.handle(), [](void* b) { return static_cast<task<T>*>(b)->done(); }, &body);
  return body.take();
}

} // namespace superstep

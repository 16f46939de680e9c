// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/assert.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>

namespace superstep {

template <class T>
class task;
class executor;
class fork_join;

/// The executor of a coroutine, and a pointer by which the executor identifies the coroutine's
/// call. Must outlive the coroutine's frame. A coroutine shares its context with the coroutines it
/// awaits.
struct execution_context {
  executor* where = nullptr; ///< resumes the coroutine
  void* owner = nullptr;     ///< the call; its type is known to the executor only
};

/// One suspension of a coroutine. The suspended frame and the code that ends the wait share it.
///
/// If the coroutine's call is cancelled, the frame is destroyed before the wait has ended. Ending
/// the wait then has no effect.
/// @par Threads
/// claim(), publish(), end() and abandoned() may be called from any thread; abandon(),
/// end_in_place() and resumable() only from the coroutine's executor.
class wait : public boost::intrusive_ref_counter<wait, boost::thread_safe_counter> {
  enum class state : std::uint8_t { waiting, claimed, ended, abandoned };
  std::atomic<state> state_{state::waiting}; // first, because it fits behind the use count

public:
  /// @param frame the coroutine that is about to be suspended
  /// @param at its execution context
  wait(std::coroutine_handle<> frame, execution_context& at);
  wait(const wait&) = delete;
  wait& operator=(const wait&) = delete;
  virtual ~wait();

  /// Claims the right to end the wait. Returns true for exactly one caller, and only while the
  /// frame exists.
  [[nodiscard]] bool claim() noexcept;
  /// After claim(): schedules the coroutine for resumption, unless its frame was destroyed
  /// meanwhile.
  void publish() noexcept;
  /// Calls claim() and publish(). Returns false if the wait had already ended or was abandoned.
  bool end() noexcept;
  /// Ends the wait without scheduling the coroutine, for an executor that resumes it directly.
  /// Returns false if the wait had already ended or was abandoned.
  bool end_in_place() noexcept;

  /// Marks the frame as destroyed; called by the awaiter's destructor.
  virtual void abandon() noexcept;
  /// Whether a published wait still has its frame. The executor checks this just before it resumes.
  [[nodiscard]] bool resumable() const noexcept;
  /// Whether the frame was destroyed before the coroutine was resumed.
  [[nodiscard]] bool abandoned() const noexcept;

  /// The suspended coroutine. Valid only while resumable().
  [[nodiscard]] std::coroutine_handle<> frame() const noexcept { return frame_; }
  /// The coroutine's execution_context::owner. Valid only while resumable().
  [[nodiscard]] void* owner() const noexcept { return owner_; }

  // Used by the executor's intrusive queues. A wait is in at most one queue at a time.
  wait* next = nullptr;
  std::chrono::steady_clock::time_point due{}; ///< end of a timer; zero for other waits

private:
  std::coroutine_handle<> frame_;
  boost::intrusive_ptr<executor> where_;
  void* owner_;
};

using wait_ptr = boost::intrusive_ptr<wait>;

/// Resumes coroutines. Lanes are the executors of an engine; sync_wait() has a simple queue. A
/// coroutine is resumed only by its executor, never by the thread that ended its wait. Two threads
/// therefore never run a body at the same time, and a body needs no lock.
class executor : public boost::intrusive_ref_counter<executor, boost::thread_safe_counter> {
public:
  using time_point = std::chrono::steady_clock::time_point;

  executor() = default;
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;
  virtual ~executor();

  /// Schedules the coroutine of an ended wait for resumption; never resumes it inside this call.
  /// May be called from any thread.
  virtual void resume_soon(wait_ptr) noexcept = 0;
  /// Ends the wait at a point in time (1 ms precision). Must be called from the coroutine's thread.
  virtual void wake_at(time_point, wait_ptr) noexcept = 0;
  /// The current monotonic time.
  [[nodiscard]] virtual time_point now() const noexcept = 0;

  /// Starts `body` as a separate call, which runs concurrently with its parent and siblings, also
  /// if it blocks. Calls join->one_done() exactly once, whatever the outcome.
  virtual void fork(execution_context& parent, task<void> body,
                    boost::intrusive_ptr<fork_join> join) = 0;

  /// Called by a coroutine that suspends and will never be resumed, e.g. at an interrupt. Its call
  /// ends when control returns to the executor, which then destroys the frame. Must be called from
  /// the coroutine's thread. Does nothing by default, for executors that have no calls.
  virtual void give_up(execution_context& /*at*/) noexcept {}
};

/// Counts forked calls and ends the parent's wait when all have ended. The parent itself counts as
/// one, so that the wait cannot end before it has suspended.
class fork_join final : public boost::intrusive_ref_counter<fork_join, boost::thread_safe_counter> {
public:
  /// @param calls number of forked calls
  explicit fork_join(std::size_t calls) noexcept : pending_{calls + 1} {}

  /// Sets the parent's wait. Called once, when the parent suspends. Ends the wait at once if all
  /// calls have already ended.
  void arm(wait_ptr parent) noexcept;
  /// Reports the end of one call. May be called from any thread.
  void one_done() noexcept;

private:
  std::atomic<std::size_t> pending_;
  wait_ptr parent_;
};

} // namespace superstep

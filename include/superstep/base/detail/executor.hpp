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

/// Where a coroutine runs: its executor, and a pointer that the executor uses to identify the call.
/// Must outlive the coroutine's frame. Coroutines that it awaits share it.
struct execution_context {
  executor* where = nullptr;
  void* owner = nullptr;
};

/// One suspension of a coroutine, shared by the suspended frame and the party that ends the wait.
///
/// The frame may be destroyed first, when its call is cancelled. Ending the wait then has no
/// effect.
/// @par Threads
/// claim() and publish() may be called from any thread; abandon() and resumable() only from the
/// coroutine's executor.
class wait : public boost::intrusive_ref_counter<wait, boost::thread_safe_counter> {
public:
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
  /// Ends the wait without scheduling: for the executor itself, which resumes the coroutine
  /// directly.
  bool end_in_place() noexcept;

  /// Marks the frame as destroyed; called by the awaiter's destructor.
  virtual void abandon() noexcept;
  /// Whether a published wait still has its frame. The executor checks this just before it resumes.
  [[nodiscard]] bool resumable() const noexcept;
  /// Whether the frame was destroyed before the wait ended.
  [[nodiscard]] bool abandoned() const noexcept;

  /// The suspended coroutine. Valid only while resumable().
  [[nodiscard]] std::coroutine_handle<> frame() const noexcept { return frame_; }
  /// The coroutine's execution_context::owner. Valid only while resumable().
  [[nodiscard]] void* owner() const noexcept { return owner_; }

  // For the executor's intrusive queues. A wait is in at most one queue at a time.
  wait* next = nullptr;
  std::chrono::steady_clock::time_point due{}; ///< of a timer; zero otherwise

private:
  enum class state : std::uint8_t { waiting, claimed, ended, abandoned };
  std::atomic<state> state_{state::waiting};
  std::coroutine_handle<> frame_;
  boost::intrusive_ptr<executor> where_;
  void* owner_;
};

using wait_ptr = boost::intrusive_ptr<wait>;

/// Resumes coroutines: a lane of the engine in production, a simple queue in tests. A coroutine is
/// resumed only by its executor, never by the thread that ended its wait. A body is therefore never
/// run by two threads at the same time and needs no lock.
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
  /// Ends the wait at the given time (1 ms precision). Must be called from the coroutine's thread.
  virtual void wake_at(time_point, wait_ptr) noexcept = 0;
  /// The current monotonic time.
  [[nodiscard]] virtual time_point now() const noexcept = 0;

  /// Starts `body` as a call of its own, in parallel with its parent and its siblings, even if it
  /// blocks. Calls join->one_done() exactly once, whatever the outcome.
  virtual void fork(execution_context& parent, task<void> body,
                    boost::intrusive_ptr<fork_join> join) = 0;

  /// Called by a coroutine that is suspended and will never be resumed. Its call ends when control
  /// returns to the executor, which then destroys the frame. Must be called from the coroutine's
  /// thread. Does nothing in executors without calls.
  virtual void give_up(execution_context& /*at*/) noexcept {}
};

/// Counts forked calls and ends the parent's wait when all have ended. The parent itself counts as
/// one, so that the wait cannot end before it has suspended.
class fork_join final : public boost::intrusive_ref_counter<fork_join, boost::thread_safe_counter> {
public:
  explicit fork_join(std::size_t calls) noexcept : pending_{calls + 1} {}

  /// Called once, when the parent has suspended with this wait. May end the wait at once.
  void arm(wait_ptr parent) noexcept;
  /// Reports the end of one call. May be called from any thread.
  void one_done() noexcept;

private:
  std::atomic<std::size_t> pending_;
  wait_ptr parent_;
};

} // namespace superstep

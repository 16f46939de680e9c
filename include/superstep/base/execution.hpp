// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/assert.hpp>

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
class execution;
class fork_join;

/// Where one coroutine lives: who resumes it, and a word of that resumer's own about it.
/// Outlives the coroutine's frame. Children awaited by it share it.
struct home {
  execution* where = nullptr;
  void* owner = nullptr;
};

/// One suspension of one coroutine, shared by the frame that waits and by whoever ends the wait.
///
/// The frame may be destroyed first (a cancelled call); ending the wait is then without effect.
/// @par Threads
/// claim() and publish(): any thread. abandon() and resumable(): only where the coroutine lives.
class wait : public boost::intrusive_ref_counter<wait, boost::thread_safe_counter> {
public:
  wait(std::coroutine_handle<> frame, home& at);
  wait(const wait&) = delete;
  wait& operator=(const wait&) = delete;
  virtual ~wait();

  /// Claims the right to end the wait; true for one caller, and only while the frame is there.
  [[nodiscard]] bool claim() noexcept;
  /// After claim(): makes the coroutine resume in its home, unless its frame has gone meanwhile.
  void publish() noexcept;
  /// claim() and publish(). False when the wait was over or abandoned already.
  bool end() noexcept;
  /// end() by the execution itself, which resumes the coroutine without being told.
  bool end_in_place() noexcept;

  /// The frame goes away; called by the awaiter's destructor.
  virtual void abandon() noexcept;
  /// Whether a published wait still has its frame. Asked by the execution just before it resumes.
  [[nodiscard]] bool resumable() const noexcept;
  [[nodiscard]] bool abandoned() const noexcept;

  [[nodiscard]] std::coroutine_handle<> frame() const noexcept { return frame_; }
  /// home::owner of the coroutine. Valid only while resumable().
  [[nodiscard]] void* owner() const noexcept { return owner_; }

  // For the queue of the execution that holds it; in one queue at a time.
  wait* next = nullptr;
  std::chrono::steady_clock::time_point due{}; ///< of an alarm; zero for anything else

private:
  enum class state : std::uint8_t { waiting, claimed, ended, abandoned };
  std::atomic<state> state_{state::waiting};
  std::coroutine_handle<> frame_;
  boost::intrusive_ptr<execution> where_;
  void* owner_;
};

using wait_ptr = boost::intrusive_ptr<wait>;

/// What resumes coroutines: a lane of the engine in production, a queue of its own in tests.
/// A coroutine is only ever resumed by its execution, never by the thread that ended its wait,
/// so a body is never run by two threads and needs no lock.
class execution : public boost::intrusive_ref_counter<execution, boost::thread_safe_counter> {
public:
  using time_point = std::chrono::steady_clock::time_point;

  execution() = default;
  execution(const execution&) = delete;
  execution& operator=(const execution&) = delete;
  virtual ~execution();

  /// Resumes the coroutine of an ended wait, later and elsewhere on the stack. Any thread.
  virtual void resume_soon(wait_ptr) noexcept = 0;
  /// Ends the wait at the given time (1 ms precision). Only from where the coroutine lives.
  virtual void wake_at(time_point, wait_ptr) noexcept = 0;
  [[nodiscard]] virtual time_point now() const noexcept = 0;

  /// Runs `body` as a call of its own, beside its parent and its siblings and overlapping with
  /// them even when it blocks. Reports to `join` exactly once, whatever becomes of it.
  virtual void fork(home& parent, task<void> body, boost::intrusive_ptr<fork_join> join) = 0;

  /// The coroutine that lives there is suspended and will never go on: its call ends when control
  /// comes back, and its frame is destroyed. Called from where it lives. An execution without calls
  /// has nobody who gives up.
  virtual void give_up(home& /*at*/) noexcept {}
};

/// Counts forked calls down and ends the parent's wait at zero. One count for the parent itself.
class fork_join final : public boost::intrusive_ref_counter<fork_join, boost::thread_safe_counter> {
public:
  explicit fork_join(std::size_t calls) noexcept : pending_{calls + 1} {}

  /// The parent suspended with this wait. Called once; may end the wait at once.
  void arm(wait_ptr parent) noexcept;
  /// One call has ended. Any thread.
  void one_done() noexcept;

private:
  std::atomic<std::size_t> pending_;
  wait_ptr parent_;
};

} // namespace superstep

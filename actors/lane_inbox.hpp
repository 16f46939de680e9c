// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inbox.hpp"
#include "lane_message.hpp"

#include <superstep/base/detail/executor.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace superstep {

/// The queues of a lane for other threads: messages, and waits that have ended. The lane's thread
/// sleeps here while it has nothing to do.
class lane_inbox {
public:
  using time_point = std::chrono::steady_clock::time_point;

  lane_inbox() = default;
  lane_inbox(const lane_inbox&) = delete;
  lane_inbox& operator=(const lane_inbox&) = delete;
  ~lane_inbox();

  // Callable from any thread.
  /// Adds a message and wakes the lane. Returns false if the inbox is closed; the caller then still
  /// owns the message.
  [[nodiscard]] bool push(lane_message* m) noexcept;
  /// Adds a wait that has ended, or a timer of a body. Drops it if the inbox is closed.
  void push(wait_ptr w) noexcept;
  void wake() noexcept;
  /// Ends sleep(), now and later. Unlike a message, this cannot be refused.
  void interrupt() noexcept {
    interrupted_.store(true, std::memory_order_seq_cst);
    wake();
  }
  [[nodiscard]] bool is_interrupted() const noexcept {
    return interrupted_.load(std::memory_order_relaxed);
  }
  /// Refuses the messages that were not handled and all later ones.
  void close(lane& owner) noexcept;
  /// Also drops the waits. Called when no thread serves the lane any more.
  void close_waits() noexcept;

  // Called by the lane's thread.
  /// Passes up to `max` messages to the lane.
  void handle_messages(lane& owner, unsigned max);
  /// Returns the waits that have arrived, linked by `next`. The caller owns them.
  [[nodiscard]] wait* take_waits() noexcept { return waits_.take_all(); }
  /// Whether messages were taken from the inbox that handle_messages() has not handled.
  [[nodiscard]] bool has_more() const noexcept {
    return arrived_.load(std::memory_order_relaxed) != nullptr;
  }
  /// Whether the thread sleeps or is about to. Thread-safe.
  [[nodiscard]] bool is_asleep() const noexcept { return asleep_.load(std::memory_order_relaxed); }
  /// Sleeps until something arrives, wake() is called, or the time is reached.
  void sleep(time_point until);

private:
  static void drop(wait* first) noexcept;

  alignas(64) inbox<lane_message> messages_;
  inbox<wait> waits_;
  std::atomic<bool> asleep_{false};
  /// set by interrupt(): sleep() does not wait any more
  std::atomic<bool> interrupted_{false};
  // messages taken from `messages_` and not handled yet; atomic because of close()
  std::atomic<lane_message*> arrived_{nullptr};
  std::mutex mutex_;
  std::condition_variable woken_;
};

} // namespace superstep

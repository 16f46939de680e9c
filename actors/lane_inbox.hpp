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

/// The queues of a lane for other threads: messages, requests of bodies, and waits that have ended.
/// The lane's thread sleeps here while it has nothing to do.
///
/// Requests have a queue of their own. A body may fork 100,000 calls, with a request for each, and
/// messages such as new runs and cancellations must not wait behind them.
class lane_inbox {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// The kinds of messages. Each kind has its own queue.
  enum class kind : bool {
    message,
    request, ///< of a body, for a forked call or a nested run
  };

  lane_inbox() = default;
  lane_inbox(const lane_inbox&) = delete;
  lane_inbox& operator=(const lane_inbox&) = delete;
  ~lane_inbox();

  // Callable from any thread.
  /// Adds a message and wakes the lane. Returns false if the inbox is closed; the caller then still
  /// owns the message.
  [[nodiscard]] bool push(lane_message* m, kind of) noexcept;
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
  /// Refuses the messages and requests that were not handled and all later ones.
  void close(lane& owner) noexcept;
  /// Also drops the waits. Called when no thread serves the lane any more.
  void close_waits() noexcept;

  // Called by the lane's thread.
  /// Passes up to `max` messages and up to `max` requests to the lane.
  void handle_messages(lane& owner, unsigned max) {
    messages_.handle(owner, max);
    requests_.handle(owner, max);
  }
  /// Returns the waits that have arrived, linked by `next`. The caller owns them.
  [[nodiscard]] wait* take_waits() noexcept { return waits_.take_all(); }
  /// Whether messages have arrived since handle_messages().
  [[nodiscard]] bool has_messages() const noexcept { return !messages_.empty(); }
  /// Whether messages or requests have arrived that handle_messages() has left for later.
  [[nodiscard]] bool has_more() const noexcept {
    return messages_.has_more() || requests_.has_more();
  }
  /// Whether the thread sleeps or is about to. Thread-safe.
  [[nodiscard]] bool is_asleep() const noexcept { return asleep_.load(std::memory_order_relaxed); }
  /// Sleeps until something arrives, wake() is called, or the time is reached.
  void sleep(time_point until);

private:
  /// Messages of one kind.
  class queue {
  public:
    [[nodiscard]] bool push(lane_message* m) noexcept { return pushed_.push(m); }
    [[nodiscard]] bool empty() const noexcept { return pushed_.empty(); }
    [[nodiscard]] bool has_more() const noexcept {
      return arrived_.load(std::memory_order_relaxed) != nullptr;
    }
    void handle(lane& owner, unsigned max);
    void close(lane& owner) noexcept;

  private:
    inbox<lane_message> pushed_;
    // messages taken from `pushed_` and not handled yet; atomic because of close()
    std::atomic<lane_message*> arrived_{nullptr};
  };

  static void drop(wait* first) noexcept;

  alignas(64) queue messages_;
  queue requests_;
  inbox<wait> waits_;
  std::atomic<bool> asleep_{false};
  /// set by interrupt(): sleep() does not wait any more
  std::atomic<bool> interrupted_{false};
  std::mutex mutex_;
  std::condition_variable woken_;
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/detail/event_stream.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace superstep {

/// The queue between a run and the reader of its stream. When the queue is full, the lane pauses
/// the run before its next step. Therefore at most the events of one step exceed the bound.
///
/// The reader takes all available events at once and then reads this batch without a lock, so that
/// a streamed token costs little. Once both vectors have grown to their final size, neither side
/// allocates.
class detail::event_stream::queue final : public detail::event_sink {
public:
  explicit queue(std::size_t events_max) : events_max_{events_max} {}

  void push(detail::run_event e) override;
  [[nodiscard]] bool is_full() const override;
  void on_room(std::function<void()> notify) override;
  void close(detail::raw_result result);
  /// Drops all events, because there is no reader any more.
  void abandon() noexcept;

  [[nodiscard]] std::optional<detail::run_event> pop();
  /// Calls the function once, as soon as pop() would not block: at once, or later from the thread
  /// that adds an event.
  void when_ready(std::function<void()> ready);
  [[nodiscard]] const detail::raw_result& result() const { return *result_; }

private:
  void wake_reader(std::unique_lock<std::mutex> lock);
  [[nodiscard]] bool take_batch();
  [[nodiscard]] std::function<void()> room_notifier() const;

  const std::size_t events_max_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<detail::run_event> events_;
  std::optional<detail::raw_result> result_;
  std::function<void()> on_room_; ///< set by on_room(); called when there is room again
  std::function<void()> reader_;  ///< the function of a reader that waits in when_ready()
  bool has_sleeping_reader_ = false;
  bool is_abandoned_ = false;
  mutable std::atomic<bool> was_full_{false};

  // Used by the reader only.
  std::vector<detail::run_event> batch_;
  std::size_t next_ = 0;
  /// number of unread events in batch_; written by the reader only
  std::atomic<std::size_t> left_{0};
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/event_stream.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

namespace superstep {

/// Between a run and the reader of its stream. Bounded by holding the run back at its next step:
/// one step's events may go over the bound, never more.
class event_stream::queue final : public event_sink {
public:
  explicit queue(std::size_t events_max) : events_max_{events_max} {}

  void push(run_event e) override;
  [[nodiscard]] bool is_full() const override;
  void on_room(std::function<void()> tell) override;
  void close(raw_result result);

  [[nodiscard]] std::optional<run_event> pop();
  /// Calls it once, from any thread, as soon as pop() does not block: at once, if it does not now.
  void when_ready(std::function<void()> tell);
  [[nodiscard]] const raw_result& result() const { return *result_; }

private:
  void wake_reader();

  const std::size_t events_max_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<run_event> events_;
  std::optional<raw_result> result_;
  std::function<void()> tell_;
  std::function<void()> reader_; ///< waits without a thread
  mutable bool was_full_ = false;
};

} // namespace superstep

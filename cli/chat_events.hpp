// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/wake_up.hpp"

#include <superstep/actors/detail/event_stream.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace superstep::cli {

/// A queue of the events of one run. It rings a wake_up, so the thread of the conversation can wait
/// for events, keys and Ctrl-C at the same time. With an event_stream it could wait only for
/// events.
class chat_events final : public detail::event_sink {
public:
  explicit chat_events(std::shared_ptr<const wake_up> bell) : bell_{std::move(bell)} {}

  // The engine calls these; see event_sink.
  void push(detail::run_event event) override;
  [[nodiscard]] bool is_full() const override;
  void on_room(std::function<void()> tell) override;
  /// Adds the result of the run, after its last event.
  void close(detail::raw_result ended);

  struct taken {
    std::vector<detail::run_event> events{};
    std::optional<detail::raw_result> ended{}; ///< set with the last events of the run
  };
  /// Removes and returns all queued events.
  [[nodiscard]] taken take();

private:
  static constexpr std::size_t events_max = 1'024;

  std::shared_ptr<const wake_up> bell_; // shared, because a run may outlive its conversation
  mutable std::mutex mutex_;
  mutable bool was_full_ = false;
  taken held_;
  std::function<void()> tell_;
};

} // namespace superstep::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "unit/actors/simulator/bodies.hpp"

#include <superstep/actors/detail/event_stream.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace superstep::simulation {

/// The slow reader of a run's stream. Takes one event at a time, and checks that the steps of the
/// outermost run arrive in order.
class reader final : public detail::event_sink, public std::enable_shared_from_this<reader> {
public:
  reader(int buffer, int pause_us, std::shared_ptr<observations> seen)
      : buffer_{buffer}, pause_{pause_us}, seen_{std::move(seen)} {}

  void push(detail::run_event e) override {
    yield();
    if (has_ended_ && e.mode != stream_mode::custom && seen_->broken.empty())
      seen_->broken = "an event arrives after the end of its run";
    if (e.mode == stream_mode::values && !e.path) {
      if (e.step < last_step_ && seen_->broken.empty())
        seen_->broken = "the steps of a stream are not in order";
      last_step_ = e.step;
    }
    if (unread_++ == 0)
      read_later();
  }
  [[nodiscard]] bool is_full() const override {
    const auto full = unread_ >= buffer_;
    was_full_ = was_full_ || full;
    return full;
  }
  void on_room(std::function<void()> tell) override { tell_ = std::move(tell); }
  /// Reports the end of the run.
  void end() noexcept { has_ended_ = true; }

private:
  void read_later() {
    auto& w = *world::current();
    w.at(w.now() + pause_, [self = shared_from_this()] { self->read(); });
  }
  void read() {
    if (--unread_ > 0)
      read_later();
    if (unread_ <= buffer_ / 2 && std::exchange(was_full_, false) && tell_)
      tell_();
  }

  const int buffer_;
  const microseconds pause_;
  std::shared_ptr<observations> seen_;
  std::function<void()> tell_;
  int unread_ = 0;
  std::int64_t last_step_ = -2;
  mutable bool was_full_ = false;
  bool has_ended_ = false;
};

} // namespace superstep::simulation

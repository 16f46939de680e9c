// SPDX-License-Identifier: Apache-2.0
// The bounded queue that passes a run's events from the engine to the thread of the conversation.
#include "cli/chat_events.hpp"

namespace superstep::cli {

void chat_events::push(detail::run_event event) {
  {
    const auto lock = std::scoped_lock{mutex_};
    held_.events.push_back(std::move(event));
  }
  bell_->call();
}

bool chat_events::is_full() const {
  const auto lock = std::scoped_lock{mutex_};
  was_full_ = held_.events.size() >= events_max;
  return was_full_;
}

void chat_events::on_room(std::function<void()> tell) {
  auto missed = std::function<void()>{};
  {
    const auto lock = std::scoped_lock{mutex_};
    tell_ = std::move(tell);
    // The queue was emptied before this function was called, so take() could not notify the engine.
    if (was_full_ && held_.events.empty()) {
      was_full_ = false;
      missed = tell_;
    }
  }
  if (missed)
    missed();
}

void chat_events::close(detail::raw_result ended) {
  {
    const auto lock = std::scoped_lock{mutex_};
    held_.ended = std::move(ended);
  }
  bell_->call();
}

chat_events::taken chat_events::take() {
  auto tell = std::function<void()>{};
  auto out = taken{};
  {
    const auto lock = std::scoped_lock{mutex_};
    std::swap(out, held_);
    if (std::exchange(was_full_, false))
      tell = tell_;
  }
  if (tell)
    tell();
  return out;
}

} // namespace superstep::cli

// SPDX-License-Identifier: Apache-2.0
// The stream of a run's events: implements the queue between the run's lane and the reader
// (event_queue.hpp), and the event_stream that the reader uses.
#include "event_queue.hpp"

#include <superstep/base/await.hpp>
#include <superstep/runtime/graph_error.hpp>

#include <type_traits>
#include <utility>

namespace superstep {

// Otherwise a growing vector would copy its events.
static_assert(std::is_nothrow_move_constructible_v<detail::run_event>);

void detail::event_stream::queue::push(detail::run_event e) {
  auto lock = std::unique_lock{mutex_};
  if (is_abandoned_)
    return;
  events_.push_back(std::move(e));
  wake_reader(std::move(lock));
}

void detail::event_stream::queue::close(detail::raw_result result) {
  auto lock = std::unique_lock{mutex_};
  result_ = std::move(result);
  wake_reader(std::move(lock));
}

void detail::event_stream::queue::abandon() noexcept {
  auto unread = std::vector<detail::run_event>{}; // destroyed without the lock
  const auto lock = std::scoped_lock{mutex_};
  is_abandoned_ = true;
  unread.swap(events_);
}

void detail::event_stream::queue::wake_reader(std::unique_lock<std::mutex> lock) {
  const auto sleeps = std::exchange(has_sleeping_reader_, false);
  auto reader = std::function<void()>{};
  if (reader_)
    reader.swap(reader_);
  lock.unlock();
  if (sleeps)
    changed_.notify_one();
  if (reader)
    reader();
}

void detail::event_stream::queue::when_ready(std::function<void()> ready) {
  if (next_ == batch_.size()) {
    const auto lock = std::scoped_lock{mutex_};
    if (events_.empty() && !result_) {
      reader_ = std::move(ready);
      return;
    }
  }
  ready();
}

/// Sets was_full_ before it checks the size, while the reader checks was_full_ after each event
/// that it takes. At least one of the two sees the other's change. Therefore a paused run is always
/// notified when there is room.
bool detail::event_stream::queue::is_full() const {
  const auto lock = std::scoped_lock{mutex_};
  const auto others_wait = was_full_.exchange(true);
  if (events_.size() + left_ >= events_max_)
    return true;
  was_full_ = others_wait; // another run of the same stream may be paused
  return false;
}

void detail::event_stream::queue::on_room(std::function<void()> notify) {
  {
    const auto lock = std::scoped_lock{mutex_};
    on_room_ = std::move(notify);
  }
  if (const auto missed = room_notifier()) // the reader made room before the function was set
    missed();
}

/// Returns the function set by on_room() if the queue was full and is now at most half full;
/// otherwise an empty function.
std::function<void()> detail::event_stream::queue::room_notifier() const {
  if (!was_full_)
    return {};
  const auto lock = std::scoped_lock{mutex_};
  if (!was_full_ || events_.size() + left_ > events_max_ / 2 || !on_room_)
    return {};
  was_full_ = false;
  return on_room_;
}

/// Takes all available events, or waits for them. Returns false if the run has ended and all events
/// were read.
bool detail::event_stream::queue::take_batch() {
  batch_.clear();
  next_ = 0;
  auto lock = std::unique_lock{mutex_};
  while (events_.empty() && !result_) {
    has_sleeping_reader_ = true;
    changed_.wait(lock);
  }
  has_sleeping_reader_ = false;
  batch_.swap(events_);
  left_ = batch_.size();
  return !batch_.empty();
}

std::optional<detail::run_event> detail::event_stream::queue::pop() {
  auto first = std::optional<detail::run_event>{};
  if (next_ == batch_.size() && !take_batch())
    return first;
  first.emplace(std::move(batch_[next_++]));
  left_ = batch_.size() - next_;
  if (const auto notify = room_notifier())
    notify();
  return first;
}

detail::event_stream::event_stream(std::shared_ptr<queue> events, run_handle run)
    : events_{std::move(events)}, run_{std::move(run)} {}

detail::event_stream::event_stream(detail::event_stream&&) noexcept = default;

detail::event_stream::~event_stream() {
  if (!events_)
    return;
  run_.cancel(); // has no effect if the run has ended
  events_->abandon();
}

std::optional<detail::run_event> detail::event_stream::next() {
  auto event = events_->pop();
  if (!event)
    if (const auto& error = events_->result().error)
      throw graph_error{*error};
  return event;
}

task<std::optional<detail::run_event>> detail::event_stream::receive() {
  auto ready = await_callback<bool>([events = events_](const completer<bool>& done) {
    events->when_ready([done] { done(true); });
  });
  co_await ready;
  co_return next();
}

const detail::raw_result& detail::event_stream::result() const {
  return events_->result();
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#include "event_queue.hpp"

#include <superstep/base/await.hpp>
#include <superstep/runtime/graph_error.hpp>

#include <utility>

namespace superstep {

void event_stream::queue::push(run_event e) {
  {
    const auto lock = std::scoped_lock{mutex_};
    events_.push_back(std::move(e));
  }
  wake_reader();
}

void event_stream::queue::wake_reader() {
  auto reader = std::function<void()>{};
  {
    const auto lock = std::scoped_lock{mutex_};
    reader = std::exchange(reader_, nullptr);
  }
  changed_.notify_one();
  if (reader)
    reader();
}

void event_stream::queue::when_ready(std::function<void()> tell) {
  {
    const auto lock = std::scoped_lock{mutex_};
    if (events_.empty() && !result_) {
      reader_ = std::move(tell);
      return;
    }
  }
  tell();
}

bool event_stream::queue::is_full() const {
  const auto lock = std::scoped_lock{mutex_};
  was_full_ = events_.size() >= events_max_;
  return was_full_;
}

void event_stream::queue::on_room(std::function<void()> tell) {
  auto missed = std::function<void()>{};
  {
    const auto lock = std::scoped_lock{mutex_};
    tell_ = std::move(tell);
    if (was_full_ && events_.size() <= events_max_ / 2) { // the room came before the listener
      was_full_ = false;
      missed = tell_;
    }
  }
  if (missed)
    missed();
}

void event_stream::queue::close(raw_result result) {
  {
    const auto lock = std::scoped_lock{mutex_};
    result_ = std::move(result);
  }
  wake_reader();
}

std::optional<run_event> event_stream::queue::pop() {
  auto tell = std::function<void()>{};
  auto first = std::optional<run_event>{};
  {
    auto lock = std::unique_lock{mutex_};
    changed_.wait(lock, [this] { return !events_.empty() || result_; });
    if (events_.empty())
      return std::nullopt;
    first = std::move(events_.front());
    events_.pop_front();
    if (was_full_ && events_.size() <= events_max_ / 2) {
      was_full_ = false;
      tell = tell_;
    }
  }
  if (tell)
    tell();
  return first;
}

event_stream::event_stream(std::shared_ptr<queue> events, run_handle run)
    : events_{std::move(events)}, run_{std::move(run)} {}

event_stream::event_stream(event_stream&&) noexcept = default;

event_stream::~event_stream() {
  if (events_)
    run_.cancel(); // without effect when it has ended
}

std::optional<run_event> event_stream::next() {
  if (auto event = events_->pop())
    return event;
  if (const auto& error = events_->result().error)
    throw graph_error{*error};
  return std::nullopt;
}

task<std::optional<run_event>> event_stream::receive() {
  auto ready = await_callback<bool>([events = events_](const completer<bool>& done) {
    events->when_ready([done] { done(true); });
  });
  co_await ready;
  co_return next();
}

const raw_result& event_stream::result() const {
  return events_->result();
}

} // namespace superstep

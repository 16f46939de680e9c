// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

#include "lane.hpp"

namespace superstep {

void call::advance(std::coroutine_handle<> frame) noexcept {
  if (forked) {
    // Catches everything itself (run_one in await.hpp): only its end is of interest.
    (frame ? frame : forked.handle()).resume();
    ended = forked.done();
    return;
  }
  if (!frame) {
    ended = start_body(input, out, at, failed);
    return;
  }
  frame.resume();
  ended = continue_body(input, out, failed);
}

void call::come_home() noexcept {
  home_lane.post(this);
}

void call::arrive(lane& l) {
  l.call_came_home(*this);
}

std::stop_token call::stop_token() {
  const auto lock = std::scoped_lock{stop_mutex_};
  if (!stopper_)
    stopper_.emplace();
  if (stop_requested_)
    stopper_->request_stop();
  return stopper_->get_token();
}

void call::request_stop() {
  auto stopper = std::optional<std::stop_source>{};
  {
    const auto lock = std::scoped_lock{stop_mutex_};
    stop_requested_ = true;
    stopper = stopper_;
  }
  if (stopper) // runs the callbacks of whoever listens: not under the lock
    stopper->request_stop();
}

std::function<void(json::value)> call::emitter() {
  if (!sink)
    return {};
  return [sink = sink, node = input.table->node(input.node).name, step = input.step,
          index = input.task_index](json::value data) {
    auto event = run_event{};
    event.mode = stream_mode::custom;
    event.step = step;
    event.node = node;
    event.task_index = index;
    event.data = std::move(data);
    sink->push(std::move(event));
  };
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// Timeouts of tool calls. A call runs beside other calls of the same task. At the timeout, a
// coroutine that waits is destroyed. A tool that blocks continues on its thread, and its result is
// discarded.
#include "base/deadline.hpp"
#include "tools/failed_call.hpp"

#include <superstep/base/await.hpp>
#include <superstep/base/detail/assert.hpp>
#include <superstep/tools/tool_node.hpp>
#include <superstep/tools/tool_wrappers.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace superstep {

namespace {

using time_point = executor::time_point;

/// The state that a tool's body shares with the coroutine that waits for it. The body runs as a
/// call of its own, so a blocking body does not delay the check of its timeout.
class timed_call {
public:
  timed_call(tool_ptr tool, tool_call call, tool_context context, time_point end)
      : tool_{std::move(tool)}, call_{std::move(call)}, context_{std::move(context)}, end_{end},
        forwards_stop_{context_.stop, [this] { stop_.request_stop(); }} {
    context_.stop = stop_.get_token();
    context_.deadline = end;
  }
  timed_call(const timed_call&) = delete;
  timed_call& operator=(const timed_call&) = delete;

  [[nodiscard]] time_point end() const noexcept { return end_; }
  [[nodiscard]] bool is_over() const noexcept { return is_over_.load(std::memory_order_acquire); }
  [[nodiscard]] task<tool_output> begin() const { return tool_->run(call_, context_); }
  void stop() { stop_.request_stop(); }

  // run_body() calls one of these two functions when the body ends, and neither if the body is
  // destroyed.
  void succeeded(tool_output out, time_point when) {
    output_.emplace(std::move(out));
    ended(when);
  }
  void failed(std::exception_ptr why, time_point when) {
    failure_ = std::move(why);
    ended(when);
  }

  /// Returns the result of the body or throws its exception. If the timeout has passed, the body
  /// may still be running; the result is then an error.
  tool_output result(time_point now, std::chrono::milliseconds length) {
    const auto has_ended = is_over();
    if (has_ended && is_unavailable(failure_)) // a shortage fails the run even after the timeout
      std::rethrow_exception(failure_);
    if ((has_ended ? ended_ : now) >= end_)
      return refused("it took longer than " + std::to_string(length.count()) + " ms");
    if (!has_ended)
      return refused("its actor was stopped");
    if (failure_)
      std::rethrow_exception(failure_);
    return *std::move(output_);
  }

private:
  void ended(time_point when) {
    ended_ = when;
    is_over_.store(true, std::memory_order_release);
  }
  [[nodiscard]] tool_output refused(std::string_view why) const {
    return error_output(stopped_call(call_, why).content);
  }

  tool_ptr tool_;
  tool_call call_;
  tool_context context_;
  time_point end_;
  std::stop_source stop_;
  std::stop_callback<std::function<void()>> forwards_stop_;
  std::optional<tool_output> output_;
  std::exception_ptr failure_;
  time_point ended_{};
  std::atomic<bool> is_over_{false}; // set after output_, failure_ and ended_
};
using timed_ptr = std::shared_ptr<timed_call>;

task<void> run_body(timed_ptr call, completer<bool> done) {
  auto& at = co_await this_context{};
  try {
    auto body = call->begin();
    auto out = co_await body;
    call->succeeded(std::move(out), at.where->now());
  } catch (...) {
    call->failed(std::current_exception(), at.where->now());
  }
  done(true);
}

task<void> time_out_at(time_point when, completer<bool> done) {
  auto sleeping = sleep_until{when};
  co_await sleeping;
  done(false);
}

task<void> stop_at(timed_ptr call) {
  auto sleeping = sleep_until{call->end()};
  co_await sleeping;
  call->stop();
}

/// Starts a task on the executor of the coroutine that owns it, so the two never run concurrently.
/// Throws what the task throws before it first suspends: a timer may lack memory.
void start(task<void>& beside, execution_context& at) {
  beside.start_in(at);
  beside.handle().resume();
  if (beside.done())
    beside.take();
}

/// Waits until the body has ended or its timeout has passed. The frame of a body that waits is then
/// destroyed.
task<void> run_until_over(timed_ptr call) {
  auto& at = co_await this_context{};
  auto running = task<void>{};
  auto waking = task<void>{};
  try {
    auto waiting = await_callback<bool>([&](completer<bool> done) {
      running = run_body(call, done);
      start(running, at);
      if (call->is_over())
        return;
      waking = time_out_at(call->end(), done);
      start(waking, at);
    });
    co_await waiting;
  } catch (...) { // no coroutine awaits this task, so the call reports the failure
    if (!call->is_over())
      call->failed(std::current_exception(), at.where->now());
  }
}

task<tool_output> run_timed(tool_ptr tool, tool_call given, tool_context context,
                            std::chrono::milliseconds length) {
  auto& at = co_await this_context{};
  auto end = detail::deadline_after(at.where->now(), length);
  if (context.deadline)
    end = std::min(end, *context.deadline);
  const auto call =
      std::make_shared<timed_call>(std::move(tool), std::move(given), std::move(context), end);
  auto stopping = stop_at(call);
  start(stopping, at);
  auto join = boost::intrusive_ptr<fork_join>{new fork_join{1}};
  at.where->fork(at, run_until_over(call), join);
  auto joined = detail::join_awaiter{join};
  co_await joined;
  co_return call->result(at.where->now(), length);
}

class timed_tool final : public tool {
public:
  timed_tool(tool_ptr inner, std::chrono::milliseconds length)
      : inner_{std::move(inner)}, length_{length} {}

  [[nodiscard]] const tool_definition& definition() const noexcept override {
    return inner_->definition();
  }
  [[nodiscard]] std::vector<injection> injections() const override { return inner_->injections(); }
  [[nodiscard]] tool_effects effects() const noexcept override { return inner_->effects(); }
  [[nodiscard]] std::optional<std::chrono::milliseconds> timeout() const noexcept override {
    return length_;
  }
  [[nodiscard]] bool commands_parent() const noexcept override { return inner_->commands_parent(); }
  [[nodiscard]] task<tool_output> run(const tool_call& call,
                                      const tool_context& context) const override {
    return run_timed(inner_, call, context, length_);
  }

private:
  tool_ptr inner_;
  std::chrono::milliseconds length_;
};

} // namespace

tool_ptr with_timeout(tool_ptr inner, std::chrono::milliseconds length) {
  SUPERSTEP_ASSERT(inner != nullptr && length.count() > 0);
  return std::make_shared<const timed_tool>(std::move(inner), length);
}

} // namespace superstep

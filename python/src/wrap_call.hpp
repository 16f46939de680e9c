// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "activation.hpp"
#include "python_tool.hpp"
#include "runtime/giving_up.hpp"
#include "tool_parts.hpp"

#include <superstep/base/await.hpp>
#include <superstep/base/task.hpp>

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace superstep::python {

/// One call of a handler: the wrapped call of a model or tool, as the Python code of a wrapper has
/// asked for it. A thread waits for its end in wait(), or a coroutine is notified of it.
/// @par Threads
/// succeed() and fail() may be called from any thread, the other members with the GIL.
class handler_call final : public pool_job {
public:
  using maker = std::function<nb::object()>;

  /// @param notify called with the GIL when the call has ended; None: nothing is called
  explicit handler_call(nb::handle notify);
  /// Ends the call with a result, which `make` converts. Only the first end counts.
  void succeed(maker make);
  /// Ends the call with an exception. Null: the body was destroyed, so there is no result.
  void fail(std::exception_ptr why);
  /// Waits for the end, without the GIL.
  void wait();
  /// Takes the end of a call that has ended. Taken, because the exception may hold the frame that
  /// holds this call.
  struct outcome {
    maker make{};                 ///< makes the result; empty if there is none
    std::exception_ptr failure{}; ///< null if there is none
  };
  [[nodiscard]] outcome take();
  void run() noexcept override;

private:
  void end(outcome with);

  shared_object notify_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  outcome outcome_;
};
using handler_call_ptr = boost::intrusive_ptr<handler_call>;

/// An order of the Python code of a wrapper to its body.
template <class Request>
struct handler_order {
  handler_call_ptr from;
  std::optional<Request> request; ///< the call to make; not set: the call is cancelled
};

/// A call of a wrapper: Python code that may ask its body any number of times for the call that it
/// wraps, also concurrently. run_wrapper() is the body. It waits in turn for the orders of the code
/// and for its end.
class wrap_activation_base : public activation {
public:
  /// The largest number of calls of one handler that have not ended.
  static constexpr std::size_t orders_max = 256;

  using activation::activation;
  /// Makes the body wait again, after it has taken the orders.
  void wait_again(completer<call_end> waiter);
  void abandon() noexcept override;
  /// Returns the result of a call of the handler that has ended, or raises its exception, once. The
  /// caller holds the GIL.
  [[nodiscard]] nb::object take(handler_call& ended);

protected:
  [[nodiscard]] bool needs_body() const noexcept override { return true; }
  void drop() noexcept override;
  void deliver(call_end end) override;
  [[nodiscard]] std::exception_ptr original_of(nb::handle exception) const override;
  /// Wakes the body, if it waits. The caller has the lock, and calls the result without it.
  [[nodiscard]] std::optional<completer<call_end>> wake();
  /// Throws nb::value_error if the code of the wrapper has ended.
  void check_open() const;
  /// Ends the orders that the body has not taken.
  virtual void drop_orders() noexcept = 0;
  [[nodiscard]] virtual bool has_orders() const noexcept = 0;

  mutable std::mutex orders_mutex_;
  bool is_closed_ = false; // whether the body was destroyed, or the code has ended

private:
  std::optional<call_end> early_end_; // of code that has ended while the body was busy
  shared_object last_exception_;      // as which the code has seen last_failure_
  std::exception_ptr last_failure_;
};

template <class Request>
class wrap_activation : public wrap_activation_base {
public:
  using wrap_activation_base::wrap_activation_base;

  /// Asks the body for a call. The caller holds the GIL.
  /// @param notify see handler_call
  [[nodiscard]] handler_call_ptr ask_body(Request request, nb::handle notify) {
    check_open();
    auto made = handler_call_ptr{new handler_call{notify}};
    add({made, std::move(request)});
    return made;
  }
  /// Cancels a call that ask_body() has returned.
  void cancel(handler_call_ptr call) { add({std::move(call), std::nullopt}); }
  /// Returns the orders since the last call, for the body.
  [[nodiscard]] std::vector<handler_order<Request>> take_orders() {
    const auto lock = std::scoped_lock{orders_mutex_};
    return std::exchange(orders_, {});
  }

private:
  void add(handler_order<Request> order) {
    auto waiter = std::optional<completer<call_end>>{};
    auto is_late = false;
    {
      const auto lock = std::scoped_lock{orders_mutex_};
      is_late = is_closed_;
      if (!is_late) {
        orders_.push_back(std::move(order));
        waiter = wake();
      }
    }
    if (is_late)
      order.from->fail(nullptr);
    if (waiter)
      (*waiter)(call_end{{}, false, true});
  }
  void drop_orders() noexcept override {
    for (auto& order : take_orders())
      order.from->fail(nullptr);
  }
  [[nodiscard]] bool has_orders() const noexcept override { return !orders_.empty(); }

  std::vector<handler_order<Request>> orders_;
};

/// Makes one wrapped call, and passes its end to the handler.
template <class Answer, class Request>
task<void> make_wrapped_call(std::function<task<Answer>(Request)> ask, Request request,
                             handler_call_ptr from) {
  try {
    auto asking = ask(std::move(request));
    auto answer = co_await asking;
    auto shared = std::make_shared<const Answer>(std::move(answer));
    from->succeed([shared = std::move(shared)] { return handler_object(*shared); });
  } catch (...) {
    from->fail(std::current_exception());
  }
}

/// The wrapped calls that a body has started and that have not ended. They are coroutines beside
/// that of the body, in the same call of the engine. The destructor cancels them.
template <class Answer, class Request>
class wrapped_calls {
public:
  using ask_function = std::function<task<Answer>(Request)>;

  wrapped_calls(wrap_activation<Request>& of, ask_function ask, execution_context& at)
      : of_{of}, ask_{std::move(ask)}, at_{at} {}
  wrapped_calls(const wrapped_calls&) = delete;
  wrapped_calls& operator=(const wrapped_calls&) = delete;
  ~wrapped_calls() {
    of_.abandon();
    for (auto& one : live_)
      one.from->fail(nullptr);
  }

  void obey(std::vector<handler_order<Request>> orders) {
    std::erase_if(live_, [](const auto& one) { return one.body.done(); });
    for (auto& order : orders)
      if (!order.request)
        cancel(order.from);
      else if (live_.size() < wrap_activation_base::orders_max)
        start(std::move(order));
      else
        order.from->fail(std::make_exception_ptr(
            std::runtime_error{"a wrapper has called its handler 256 times at once"}));
  }

private:
  struct live_call {
    handler_call_ptr from;
    task<void> body;
  };

  void start(handler_order<Request> order) {
    auto body = make_wrapped_call<Answer, Request>(ask_, *std::move(order.request), order.from);
    body.start_in(at_);
    const auto frame = body.handle();
    live_.push_back({std::move(order.from), std::move(body)});
    frame.resume();
  }
  void cancel(const handler_call_ptr& call) {
    std::erase_if(live_, [&](const auto& one) { return one.from == call; });
    call->fail(nullptr);
  }

  wrap_activation<Request>& of_;
  ask_function ask_;
  execution_context& at_;
  std::vector<live_call> live_;
};

/// The body of a wrapper: runs its Python code, and makes the calls that the code asks for.
/// @param ask makes the wrapped call
template <class Answer, class Request>
task<void> run_wrapper(boost::intrusive_ptr<wrap_activation<Request>> made,
                       std::function<task<Answer>(Request)> ask) {
  auto& at = co_await this_context{};
  auto calls = wrapped_calls<Answer, Request>{*made, std::move(ask), at};
  auto waiting = await_callback<call_end>(
      [at = made.get()](completer<call_end> waiter) { at->start(std::move(waiter)); });
  auto end = co_await waiting;
  while (end.asks_body) {
    calls.obey(made->take_orders());
    auto again = await_callback<call_end>(
        [at = made.get()](completer<call_end> waiter) { at->wait_again(std::move(waiter)); });
    end = co_await again;
  }
  if (end.failure)
    std::rethrow_exception(end.failure);
  if (end.is_interrupted) {
    auto giving = superstep::detail::giving_up{};
    co_await giving;
  }
}

} // namespace superstep::python

// SPDX-License-Identifier: Apache-2.0
// Calls of wrappers: the exchange between the Python code of a wrapper, which calls a handler, and
// its body, a coroutine of the engine that makes the wrapped calls.
#include "wrap_call.hpp"

#include "failure.hpp"
#include "process.hpp"

#include <stdexcept>
#include <utility>

namespace superstep::python {

handler_call::handler_call(nb::handle notify)
    : notify_{notify.is_none() ? shared_object{} : shared_object{notify}} {}

void handler_call::succeed(maker make) {
  end({std::move(make), nullptr});
}

void handler_call::fail(std::exception_ptr why) {
  end({{}, std::move(why)});
}

void handler_call::end(outcome with) {
  {
    const auto lock = std::scoped_lock{mutex_};
    if (std::exchange(has_ended_, true))
      return;
    outcome_ = std::move(with);
    // notified with the lock: the waiting thread may destroy this object as soon as it has the lock
    ended_.notify_all();
  }
  if (notify_)
    process::bodies().add(this);
}

void handler_call::wait() {
  auto& pool = process::bodies();
  if (!pool.has_room_outside())
    throw std::runtime_error{"more than 4,096 wrappers wait for their handlers; make the wrappers "
                             "coroutine functions, which wait without a thread"};
  const auto outside = body_pool::outside_scope{pool};
  auto lock = std::unique_lock{mutex_};
  ended_.wait(lock, [this] { return has_ended_; });
}

handler_call::outcome handler_call::take() {
  const auto lock = std::scoped_lock{mutex_};
  return std::exchange(outcome_, outcome{});
}

void handler_call::run() noexcept {
  const auto notify = std::exchange(notify_, shared_object{});
  if (auto* const done = PyObject_CallNoArgs(notify.get().ptr()); done != nullptr)
    Py_DECREF(done);
  else
    PyErr_WriteUnraisable(notify.get().ptr()); // the event loop was closed
}

void wrap_activation_base::wait_again(completer<call_end> waiter) {
  auto end = std::optional<call_end>{};
  {
    const auto lock = std::scoped_lock{orders_mutex_};
    end = std::exchange(early_end_, std::nullopt);
    if (!end && has_orders())
      end = call_end{{}, false, true};
    if (!end)
      waiter_.emplace(std::move(waiter));
  }
  if (end)
    waiter(*std::move(end));
}

std::optional<completer<call_end>> wrap_activation_base::wake() {
  return std::exchange(waiter_, std::nullopt);
}

void wrap_activation_base::deliver(call_end end) {
  auto waiter = std::optional<completer<call_end>>{};
  {
    const auto lock = std::scoped_lock{orders_mutex_};
    waiter = wake();
    if (!waiter && !is_closed_)
      early_end_ = std::move(end);
    is_closed_ = true;
  }
  if (waiter)
    (*waiter)(std::move(end));
}

void wrap_activation_base::abandon() noexcept {
  {
    const auto lock = std::scoped_lock{orders_mutex_};
    is_closed_ = true;
    early_end_.reset();
  }
  drop_orders();
  activation::abandon();
}

void wrap_activation_base::drop() noexcept {
  last_exception_ = {};
  last_failure_ = nullptr;
}

void wrap_activation_base::check_open() const {
  if (has_ended())
    throw nb::value_error("the wrapper of this handler has returned");
}

std::exception_ptr wrap_activation_base::original_of(nb::handle exception) const {
  return last_exception_ && last_exception_.get().is(exception) ? last_failure_ : nullptr;
}

nb::object wrap_activation_base::take(handler_call& ended) {
  auto [make, why] = ended.take();
  if (why) {
    const auto exception = exception_of(why);
    if (!has_ended()) {
      last_exception_ = shared_object{exception};
      last_failure_ = std::move(why);
    }
    raise_object(exception);
  }
  if (!make)
    raise_interrupted();
  return make();
}

} // namespace superstep::python

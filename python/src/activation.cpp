// SPDX-License-Identifier: Apache-2.0
// Calls of Python code by bodies. The body waits in the engine, a thread of the body_pool executes
// the code, and the result goes back through a completer. A body that is cancelled disappears while
// the code still runs, so everything that the code uses of the body is behind a lock.
#include "activation.hpp"

#include "api.hpp"
#include "convert.hpp"
#include "failure.hpp"
#include "process.hpp"
#include "python_context.hpp"
#include "types.hpp"

#include <superstep/tools/detail/tool_failure.hpp>

#include <utility>

namespace superstep::python {

namespace {

// Set from the import of the package to the end of the process.
PyObject* submit_function = nullptr;
PyObject* cancel_function = nullptr;
PyObject* interrupted_type = nullptr;

thread_local activation* running = nullptr;

/// Sets the activation whose code this thread executes, until the end of the scope.
class running_scope {
public:
  explicit running_scope(activation* now) noexcept : before_{std::exchange(running, now)} {}
  running_scope(const running_scope&) = delete;
  running_scope& operator=(const running_scope&) = delete;
  ~running_scope() { running = before_; }

private:
  activation* before_;
};

/// Cancels the task of an event loop.
class cancel_job final : public pool_job {
public:
  explicit cancel_job(shared_object task) : task_{std::move(task)} {}
  void run() noexcept override {
    auto* const done = call_with_one(cancel_function, task_.get().ptr());
    if (done == nullptr) // the loop was closed
      PyErr_Clear();
    Py_XDECREF(done);
  }

private:
  shared_object task_;
};

} // namespace

void set_async_functions(nb::object submit, nb::object cancel, nb::object interrupted,
                         nb::object call) {
  forget_async_functions(); // of an earlier import
  submit_function = submit.release().ptr();
  cancel_function = cancel.release().ptr();
  interrupted_type = interrupted.release().ptr();
  set_call_variable(std::move(call));
}

void forget_async_functions() {
  for (auto** const object : {&submit_function, &cancel_function, &interrupted_type})
    Py_CLEAR(*object);
  forget_call_variable();
}

void raise_interrupted() {
  PyErr_SetNone(interrupted_type);
  throw nb::python_error();
}

activation::activation(python_function f, std::function<runtime()> make_runtime)
    : function_{std::move(f)}, make_runtime_{std::move(make_runtime)} {}

activation* activation::current() noexcept {
  return running;
}

void activation::start(completer<call_end> done) {
  waiter_.emplace(std::move(done));
  auto& pool = process::bodies();
  // An event loop is notified once for all coroutines that a runner passes to it.
  const auto may_run_here = !function_.is_async && !needs_body();
  if (!(may_run_here && pool.run_here(this)) && !pool.add(this))
    finish({std::make_exception_ptr(std::runtime_error{"the process is exiting"}), false});
}

/// Passes the end of the call to the body. Drops the completer, the task, the function and the
/// runtime, because each may hold this object: the exception that the runtime has for an error
/// handler may have it in its traceback.
void activation::finish(call_end end) {
  const auto function = std::exchange(function_, python_function{});
  has_ended_ = true;
  drop();
  auto task = shared_object{};
  auto make_runtime = decltype(make_runtime_){};
  auto used = std::optional<runtime>{};
  {
    const auto lock = std::scoped_lock{mutex_};
    std::swap(task, task_);
    std::swap(make_runtime, make_runtime_);
    std::swap(used, runtime_);
  }
  deliver(std::move(end));
}

void activation::deliver(call_end end) {
  const auto waiter = std::exchange(waiter_, std::nullopt);
  if (waiter)
    (*waiter)(std::move(end));
}

void activation::run() noexcept {
  if (waiter_->abandoned()) {
    waiter_.reset();
    return;
  }
  const auto scope = running_scope{this};
  try {
    const auto context = context_scope{config()};
    go_on(call(function_));
  } catch (...) {
    finish(end_of_exception());
  }
}

/// Uses what Python code has returned: a result, or a coroutine that an event loop has to execute.
void activation::go_on(nb::object result) {
  while (result.is_valid()) {
    if (Py_TYPE(result.ptr()) == reinterpret_cast<PyTypeObject*>(types().coroutine)) {
      start_coroutine(result);
      return;
    }
    result = accept(result);
  }
  finish({});
}

void activation::complete(nb::handle result, nb::handle failure) {
  try {
    if (!failure.is_none()) {
      const auto is_interrupt = PyObject_IsInstance(failure.ptr(), interrupted_type) == 1;
      finish(is_interrupt ? call_end{{}, true} : call_end{failure_of(failure), false});
      return;
    }
    const auto scope = running_scope{this};
    const auto context = context_scope{config()};
    go_on(accept(result));
  } catch (...) {
    finish(end_of_exception());
  }
}

/// Returns the failure of Python code that has raised an exception. The model does not see one such
/// as SystemExit or KeyboardInterrupt, which is for the program and not the result of a tool.
std::exception_ptr activation::failure_of(nb::handle exception) const {
  if (auto original = original_of(exception))
    return original;
  if (!is_of_tool())
    return failure_of_node(exception);
  auto made = std::make_exception_ptr(python_failure{exception});
  if (PyObject_IsInstance(exception.ptr(), PyExc_Exception) == 1)
    return made;
  try {
    try {
      std::rethrow_exception(made);
    } catch (const python_failure& e) {
      std::throw_with_nested(tool_failed{{graph_errc::node_failed, e.what()}});
    }
  } catch (...) {
    return std::current_exception();
  }
}

/// Converts the exception that is being handled to the end of the call.
call_end activation::end_of_exception() const {
  try {
    throw;
  } catch (nb::python_error& e) {
    if (e.matches(interrupted_type))
      return {{}, true};
    return {failure_of(e.value()), false};
  } catch (const nb::builtin_exception& e) { // of the conversion of the result
    auto* const type =
        e.type() == nb::exception_type::type_error ? PyExc_TypeError : PyExc_ValueError;
    const auto made = nb::borrow(type)(to_python(std::string_view{e.what()}));
    return {std::make_exception_ptr(python_failure{made}), false};
  } catch (...) {
    return {std::current_exception(), false};
  }
}

void activation::start_coroutine(nb::handle coroutine) {
  auto loop = std::int64_t{0};
  if (const auto* const named = config().configurable.if_contains(loop_key);
      named != nullptr && named->is_int64())
    loop = named->get_int64();
  const auto self = nb::cast(call_reference{this});
  const auto number = ++coroutines_;
  const auto task = nb::borrow(submit_function)(loop, coroutine, self);
  if (has_ended_ || number != coroutines_) // the loop has already executed the coroutine
    return;
  auto is_late = false; // whether abandon() has not seen the task
  {
    const auto lock = std::scoped_lock{mutex_};
    is_late = is_abandoned_;
    if (!is_late)
      task_ = shared_object{task};
  }
  if (is_late)
    process::bodies().add(new cancel_job{shared_object{task}});
  watch_body();
}

/// Asks for a notification when the body is cancelled. The function that is registered waits for
/// the lock, so that no service of the body is in use when the body disappears.
void activation::watch_body() {
  if (has_ended_)
    throw nb::value_error("the call of this runtime has ended");
  if (std::exchange(is_watched_, true))
    return;
  waiter_->on_abandon([self = boost::intrusive_ptr<activation>{this}] { self->abandon(); });
}

/// Releases the task, which refers to this object: if its loop was closed, it never ends the call.
void activation::abandon() noexcept {
  auto task = shared_object{};
  {
    const auto lock = std::scoped_lock{mutex_};
    is_abandoned_ = true;
    std::swap(task, task_);
  }
  if (task)
    process::bodies().add(new cancel_job{std::move(task)});
}

json::value activation::ask(const json::value& question) {
  watch_body();
  const auto& rt = get_runtime();
  auto answer = std::optional<json::value>{};
  {
    const auto lock = std::scoped_lock{mutex_};
    if (!is_abandoned_)
      answer = rt.ask(question);
  }
  if (answer)
    return *std::move(answer);
  raise_interrupted();
}

const runtime& activation::get_runtime() {
  watch_body();
  const auto lock = std::scoped_lock{mutex_};
  if (runtime_)
    return *runtime_;
  if (is_abandoned_)
    throw nb::value_error("the call of this runtime has ended");
  if (!make_runtime_)
    throw nb::value_error(
        "this call is not that of a node: a model, and a tool outside of an agent, "
        "have no interrupt(), emit(), node, step and attempt");
  runtime_.emplace(make_runtime_());
  return *runtime_;
}

task<bool> await_call(boost::intrusive_ptr<activation> call) {
  auto waiting = await_callback<call_end>(
      [at = call.get()](completer<call_end> done) { at->start(std::move(done)); });
  auto end = co_await waiting;
  if (end.failure)
    std::rethrow_exception(end.failure);
  co_return !end.is_interrupted;
}

} // namespace superstep::python

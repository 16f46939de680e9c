// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "body_pool.hpp"
#include "objects.hpp"

#include <superstep/base/await.hpp>
#include <superstep/runtime/run_config.hpp>
#include <superstep/runtime/runtime.hpp>

#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace superstep::python {

/// A Python function that bodies call.
struct python_function {
  shared_object callable;
  bool is_async = false;      ///< whether it is a coroutine function
  bool takes_runtime = false; ///< whether it has a parameter `runtime`
};

/// The end of a call of Python code. Its value, if any, is stored in the activation.
struct call_end {
  std::exception_ptr failure{}; ///< a python_failure, or an exception of the conversion
  bool is_interrupted = false;  ///< whether interrupt() has no resume value yet
  bool asks_body = false;       ///< whether the call continues, and has orders; see wrap_activation
};

/// The member of run_config::configurable that names the event loop of the caller of a run.
inline constexpr auto loop_key = "__superstep_loop";

/// One call of Python code by a body of the engine. The body, a coroutine, awaits it, while a
/// thread of the body_pool executes it. A coroutine function is executed by an event loop: that of
/// the caller of the run, or one of the package.
///
/// If the body's call is cancelled while it waits, the Python code runs to its end and its result
/// is dropped. A coroutine of Python is cancelled.
class activation : public pool_job {
public:
  /// @param make_runtime creates the runtime of the body. It is called at most once, on any thread,
  /// while the body exists; empty if there is none.
  activation(python_function f, std::function<runtime()> make_runtime);

  /// Starts the call; for await_callback().
  void start(completer<call_end> done);
  void run() noexcept override;
  /// Completes the call of a coroutine function. The caller holds the GIL.
  /// @param failure the exception of the coroutine; None if it has returned `result`
  void complete(nb::handle result, nb::handle failure);
  /// Called when the body is destroyed while it waits. Cancels the task of a coroutine function.
  /// The caller need not hold the GIL.
  virtual void abandon() noexcept;

  // For the Python code that the activation executes. All need the GIL. They throw nb::value_error
  // if the body no longer waits for the call.

  /// Returns the resume value of the next interrupt; see runtime::ask(). If there is none, throws
  /// the Python exception superstep.Interrupted, which ends the Python code.
  [[nodiscard]] json::value ask(const json::value& question);
  /// Returns the runtime of the body.
  [[nodiscard]] const runtime& get_runtime();
  /// Returns the activation whose code the calling thread executes; null if there is none.
  [[nodiscard]] static activation* current() noexcept;
  /// Returns the run's configuration. Valid until the call has ended.
  [[nodiscard]] virtual const run_config& config() const = 0;
  /// Returns the state of the graph, for the calls of tools; an invalid object otherwise.
  [[nodiscard]] virtual nb::object state() const { return {}; }
  /// Returns the long-term store of the run; null if there is none.
  [[nodiscard]] virtual store* memory() { return get_runtime().store(); }
  /// Returns the id of the tool call, for the calls of tools; otherwise an empty text.
  [[nodiscard]] virtual std::string tool_call_id() const { return {}; }
  /// Returns tool_context::idempotency_key(), for the calls of tools; otherwise an empty text.
  [[nodiscard]] virtual std::string idempotency_key() const { return {}; }

protected:
  /// Calls the function with its arguments. The caller holds the GIL.
  [[nodiscard]] virtual nb::object call(const python_function& f) = 0;
  /// Stores the result of the function, converted. The caller holds the GIL. May throw.
  /// @returns an invalid object if the call has ended; otherwise a further result, or a coroutine
  /// whose result is passed to accept() again
  [[nodiscard]] virtual nb::object accept(nb::handle result) = 0;

  /// Drops what only call() and accept() need, because the call has ended. A Runtime that Python
  /// code keeps would keep it alive. The caller holds the GIL.
  virtual void drop() noexcept {}

  /// Passes the end of the call to the body. Any thread may call it.
  virtual void deliver(call_end end);
  /// Returns the exception of C++ code that the Python code has seen as `exception` and has not
  /// handled; null if there is none. The caller holds the GIL.
  [[nodiscard]] virtual std::exception_ptr original_of(nb::handle /*exception*/) const {
    return {};
  }
  /// Whether it is the call of a tool, whose exceptions may become answers for the model.
  [[nodiscard]] virtual bool is_of_tool() const noexcept { return false; }
  /// Whether the Python code may wait for its body. Then a thread of the engine cannot execute it.
  [[nodiscard]] virtual bool needs_body() const noexcept { return false; }
  /// Declares that the body calls abandon() itself.
  void set_watched() noexcept { is_watched_ = true; }
  /// Whether the call has ended. The caller holds the GIL.
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

  std::optional<completer<call_end>> waiter_; ///< of the body; reset when the body is resumed

private:
  void finish(call_end end);
  void watch_body();
  void start_coroutine(nb::handle coroutine);
  void go_on(nb::object result);
  [[nodiscard]] std::exception_ptr failure_of(nb::handle exception) const;
  [[nodiscard]] call_end end_of_exception() const;

  python_function function_;
  std::function<runtime()> make_runtime_;
  bool has_ended_ = false;
  std::uint32_t coroutines_ = 0; // started for this call so far
  std::mutex mutex_; // held while the members below, or the services of the body, are used
  bool is_watched_ = false;
  bool is_abandoned_ = false;
  std::optional<runtime> runtime_;
  shared_object task_; // of the event loop
};

/// Awaits a call. Throws its failure.
/// @returns whether the call has ended with a result; false if it was interrupted
[[nodiscard]] task<bool> await_call(boost::intrusive_ptr<activation> call);

/// A reference to an activation, as Python code holds it: the class superstep.Runtime.
struct call_reference {
  boost::intrusive_ptr<activation> call;
};

/// Raises superstep.Interrupted, which ends the Python code of a call. The caller holds the GIL.
[[noreturn]] void raise_interrupted();

/// Registers the objects of the package that activations use. Called once by the package.
/// @param submit schedules a coroutine: `submit(loop_id, coroutine, activation)` returns a handle
/// @param cancel cancels what a handle names
/// @param interrupted the class superstep.Interrupted
/// @param call see set_call_variable()
void set_async_functions(nb::object submit, nb::object cancel, nb::object interrupted,
                         nb::object call);
/// Releases these objects; see forget_package().
void forget_async_functions();

} // namespace superstep::python

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "objects.hpp"
#include "runtime/final_failure.hpp"

#include <superstep/runtime/graph_error.hpp>

#include <exception>
#include <stdexcept>
#include <string>

namespace superstep::python {

/// An exception of Python code, in a form that threads without the GIL may copy and destroy.
class python_failure : public std::runtime_error {
public:
  /// Stores an exception with its traceback. The caller holds the GIL.
  explicit python_failure(nb::handle exception);
  /// Returns the exception of Python, and drops it in all copies of this object. Otherwise its
  /// traceback, to which the caller's frames are added when it is raised, could keep alive what
  /// holds this object, for example a checkpointer. The caller holds the GIL. Invalid if it was
  /// taken.
  [[nodiscard]] nb::object take() const;
  /// Returns the exception of Python without dropping it; None if it was taken. The caller holds
  /// the GIL.
  [[nodiscard]] nb::object get() const;
  /// Whether a retry policy without a predicate retries it: not for exceptions that the same input
  /// would cause again. Source: default_retry_on in LangGraph 1.2.22, _internal/_retry.py.
  [[nodiscard]] bool is_worth_a_retry() const noexcept { return is_worth_a_retry_; }

private:
  shared_object exception_;
  bool is_worth_a_retry_;
};

/// An exception of a reducer. It ends the run: in LangGraph, reducers are called between the steps.
class reducer_failure final : public python_failure, public superstep::detail::final_failure {
public:
  /// Stores an exception with its traceback, and adds a note that names the channel. The caller
  /// holds the GIL.
  reducer_failure(nb::handle exception, const std::string& channel);
};

/// An exception that is not an Exception, such as SystemExit. It ends the run, as in LangGraph: it
/// is for the program, and not for retry policies and error handlers.
class exit_failure final : public python_failure, public superstep::detail::final_failure {
public:
  using python_failure::python_failure;
};

/// Returns the failure of a node that has raised an exception. The caller holds the GIL.
[[nodiscard]] std::exception_ptr failure_of_node(nb::handle exception);

/// Raises the failure of a run as an exception of Python: that of the node, with a note that names
/// the node and the super-step, or superstep.RunError. The caller holds the GIL.
[[noreturn]] void raise(const run_error& failed);

/// Returns the exception that raise() raises. To be called once. The caller holds the GIL.
[[nodiscard]] nb::object exception_of(const run_error& failed);

/// Returns the exception of a failure that an error handler handles. It may be called again. The
/// caller holds the GIL.
[[nodiscard]] nb::object handled_exception_of(const run_error& failed);

/// Returns an exception as text: `ValueError: no such word`. The caller holds the GIL.
[[nodiscard]] std::string describe_exception(nb::handle exception);

/// Returns the failure of a run for an exception of C++ code. Any thread may call it.
[[nodiscard]] run_error error_of(const std::exception_ptr& failure);

/// Returns the exception of Python for an exception of C++ code: that of a python_failure, or
/// superstep.RunError. It may be called again. The caller holds the GIL.
[[nodiscard]] nb::object exception_of(const std::exception_ptr& failure);
/// Raises an exception of Python. The caller holds the GIL.
[[noreturn]] void raise_object(const nb::object& exception);

/// Registers the exception classes that the package defines. Called once by the package.
void set_error_types(nb::object run_error, nb::object graph_error);
/// Releases these classes; see forget_package().
void forget_error_types();

/// Calls a function of the C++ library, and raises its exceptions as exceptions of Python. The
/// caller holds the GIL.
template <class F>
auto translated(F f) -> decltype(f());

/// Raises the exception that is being handled, as translated() does.
[[noreturn]] void raise_current();

template <class F>
auto translated(F f) -> decltype(f()) {
  try {
    return f();
  } catch (...) {
    raise_current();
  }
}

/// Calls a function of the C++ library as translated() does, and releases the GIL meanwhile.
template <class F>
auto unlocked(F f) -> decltype(f()) {
  return translated([&] {
    const auto released = nb::gil_scoped_release{};
    return f();
  });
}

} // namespace superstep::python

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "objects.hpp"

#include <superstep/runtime/run_config.hpp>

namespace superstep::python {

/// Returns a copy of the calling thread's context (contextvars.Context), for a run that it starts.
/// Refers to no object if the context has no variables. The caller holds the GIL.
[[nodiscard]] shared_object caller_context();

/// Enters a context until the end of the scope: a copy of that of the run's caller, or an empty
/// one. Variables that Python code sets are thus seen by no other call and no other run. The caller
/// holds the GIL.
class context_scope {
public:
  explicit context_scope(const run_config& config);
  context_scope(const context_scope&) = delete;
  context_scope& operator=(const context_scope&) = delete;
  ~context_scope();

private:
  PyObject* entered_;
};

/// Registers the variable that contains the call which a coroutine executes. The runs that the
/// coroutine starts do not inherit it. Called once by the package.
void set_call_variable(nb::object variable);
/// Releases the variable; see forget_package().
void forget_call_variable();

} // namespace superstep::python

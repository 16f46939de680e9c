// SPDX-License-Identifier: Apache-2.0
// The contexts (contextvars) in which Python code of runs is executed.
#include "python_context.hpp"

#include "python_run.hpp"

#ifdef Py_LIMITED_API
// The stable ABI lacks these functions, but all versions of Python since 3.7.1 export them.
extern "C" {
PyObject* PyContext_New(void);
PyObject* PyContext_Copy(PyObject*);
PyObject* PyContext_CopyCurrent(void);
int PyContext_Enter(PyObject*);
int PyContext_Exit(PyObject*);
PyObject* PyContextVar_Set(PyObject*, PyObject*);
}
#endif

namespace superstep::python {

namespace {

PyObject* call_variable = nullptr; // set from the import of the package to the end of the process

/// Sets the call of a context to None.
void forget_call(PyObject* context) {
  if (PyContext_Enter(context) != 0)
    throw nb::python_error();
  auto* const token = PyContextVar_Set(call_variable, Py_None);
  Py_XDECREF(token);
  if (PyContext_Exit(context) != 0 || token == nullptr)
    throw nb::python_error();
}

} // namespace

void set_call_variable(nb::object variable) {
  forget_call_variable(); // of an earlier import
  call_variable = variable.release().ptr();
}

void forget_call_variable() {
  Py_CLEAR(call_variable);
}

shared_object caller_context() {
  const auto copied = nb::steal(PyContext_CopyCurrent());
  if (!copied.is_valid())
    throw nb::python_error();
  if (PyObject_Size(copied.ptr()) == 0)
    return {};
  if (call_variable != nullptr && PySequence_Contains(copied.ptr(), call_variable) == 1)
    forget_call(copied.ptr());
  return shared_object{copied};
}

context_scope::context_scope(const run_config& config) {
  const auto* const run = config.context.get_if<python_run>();
  entered_ =
      run != nullptr && run->context ? PyContext_Copy(run->context.get().ptr()) : PyContext_New();
  if (entered_ == nullptr || PyContext_Enter(entered_) != 0) {
    Py_CLEAR(entered_);
    throw nb::python_error();
  }
}

context_scope::~context_scope() {
  if (PyContext_Exit(entered_) != 0)
    PyErr_Clear();
  Py_DECREF(entered_);
}

} // namespace superstep::python

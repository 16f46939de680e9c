// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <nanobind/nanobind.h>

namespace superstep::python {

namespace nb = nanobind;

// Functions of Python's C API in forms that the stable ABI has, too. All need the GIL.

/// Calls an object with one argument. Returns a new reference; null if it raised an exception.
[[nodiscard]] inline PyObject* call_with_one(PyObject* function, PyObject* argument) {
  PyObject* arguments[] = {nullptr, argument}; // the first place is for the callee
  return PyObject_Vectorcall(function, arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
}

/// Returns the name of the class of an object.
[[nodiscard]] inline std::string class_name(nb::handle object) {
  return nb::str(object.type().attr("__name__")).c_str();
}

/// Returns the type of an object for an error text: "an int", "a list", or "None".
[[nodiscard]] inline std::string type_text(nb::handle object) {
  if (object.is_none())
    return "None";
  const auto name = class_name(object);
  const auto has_vowel = std::string_view{"aeiouAEIOU"}.find(name[0]) != std::string_view::npos;
  return (has_vowel ? "an " : "a ") + name;
}

/// Returns an item of a list or tuple, borrowed.
[[nodiscard]] inline PyObject* item_at(PyObject* sequence, Py_ssize_t index) {
  return PyList_Check(sequence) ? PyList_GetItem(sequence, index)
                                : PyTuple_GetItem(sequence, index);
}

} // namespace superstep::python

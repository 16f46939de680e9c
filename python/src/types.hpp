// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace superstep::python {

namespace nb = nanobind;

/// The classes of the Python package that C++ code reads or makes. Borrowed: the package lives as
/// long as the module.
struct package_types {
  PyObject* interrupt = nullptr;
  PyObject* send = nullptr;
  PyObject* command = nullptr;
  PyObject* overwrite = nullptr;
};

/// Returns the classes; set by set_types() when the package is imported. Needs the GIL.
[[nodiscard]] const package_types& types() noexcept;
/// Registers the classes. Called once by the package.
void set_types(nb::object interrupt, nb::object send, nb::object command, nb::object overwrite);

/// Releases everything that the package has registered with this module, so that the package can be
/// destroyed. Called when the process ends, after the last run. Needs the GIL.
void forget_package();

/// Whether an object is an instance of one of these classes. Needs the GIL.
[[nodiscard]] inline bool is_a(nb::handle object, PyObject* type) noexcept {
  return PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject*>(type)) != 0;
}

} // namespace superstep::python

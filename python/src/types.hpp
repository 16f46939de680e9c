// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace superstep::python {

namespace nb = nanobind;

/// The objects of the Python package that C++ code uses. Borrowed: the package lives as long as the
/// module.
struct package_types {
  PyObject* interrupt = nullptr;
  PyObject* send = nullptr;
  PyObject* command = nullptr;
  PyObject* overwrite = nullptr;
  PyObject* store = nullptr;     ///< makes a Store of a native one
  PyObject* item = nullptr;      ///< an item of a store
  PyObject* pack = nullptr;      ///< packs a value for a checkpoint
  PyObject* pack_key = nullptr;  ///< as `pack`, with the same result for equal values
  PyObject* unpack = nullptr;    ///< the reverse of `pack`
  PyObject* coroutine = nullptr; ///< the class of coroutines
};

/// Returns the objects; set by set_types() when the package is imported. Needs the GIL.
[[nodiscard]] const package_types& types() noexcept;
/// Registers the objects: a dict with their names in package_types. Called once by the package.
void set_types(nb::dict from);

/// Releases everything that the package has registered with this module, so that the package can be
/// destroyed. Called when the process ends, after the last run. Needs the GIL.
void forget_package();

/// Whether an object is an instance of one of these classes. Needs the GIL.
[[nodiscard]] inline bool is_a(nb::handle object, PyObject* type) noexcept {
  return PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject*>(type)) != 0;
}

} // namespace superstep::python

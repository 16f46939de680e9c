// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "left_objects.hpp"

#include <memory>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

namespace superstep::python {

namespace nb = nanobind;

/// A reference to a Python object that threads without the GIL may copy and destroy. Copies share
/// one reference of Python.
class shared_object {
public:
  /// Refers to no object.
  shared_object() noexcept = default;
  /// Takes a reference to an object. The caller holds the GIL.
  explicit shared_object(nb::handle object)
      : held_{std::make_shared<holder>(nb::object(nb::borrow(object)).release().ptr())} {}

  /// Whether there is an object.
  [[nodiscard]] explicit operator bool() const noexcept {
    return held_ != nullptr && held_->object != nullptr;
  }
  /// Returns the object, to be used while the caller holds the GIL and this reference lives.
  [[nodiscard]] nb::handle get() const noexcept { return held_ ? held_->object : nullptr; }
  /// Calls a Python visitor with the object, for the garbage collector.
  int visit(visitproc visit, void* arg) const {
    Py_VISIT(held_ ? held_->object : nullptr);
    return 0;
  }
  /// Drops the object in all copies, for the garbage collector. The caller holds the GIL.
  void clear() const {
    if (held_) {
      auto* const object = std::exchange(held_->object, nullptr);
      Py_XDECREF(object);
    }
  }

private:
  struct holder {
    explicit holder(PyObject* o) noexcept : object{o} {}
    holder(const holder&) = delete;
    holder& operator=(const holder&) = delete;
    ~holder() {
      if (object != nullptr)
        leave(object);
    }
    PyObject* object;
  };
  std::shared_ptr<holder> held_;
};

/// The slots of a Python class whose C++ objects, of type T, hold Python functions. With them the
/// garbage collector finds cycles such as a tool whose module has a variable with its agent. T has
/// the function `const std::vector<shared_object>& functions()`.
template <class T>
class collected_type {
public:
  static inline PyType_Slot slots[] = {
      {Py_tp_traverse, reinterpret_cast<void*>(&collected_type::traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(&collected_type::clear)},
      {0, nullptr}};

private:
  static int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self))
      return 0;
    for (const auto& f : nb::inst_ptr<T>(self)->functions())
      if (const auto stopped = f.visit(visit, arg); stopped != 0)
        return stopped;
    return 0;
  }
  static int clear(PyObject* self) {
    if (nb::inst_ready(self))
      for (const auto& f : nb::inst_ptr<T>(self)->functions())
        f.clear();
    return 0;
  }
};

} // namespace superstep::python

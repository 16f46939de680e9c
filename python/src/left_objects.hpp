// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace superstep::python {

/// Releases a reference to a Python object: at once if the calling thread holds the GIL, otherwise
/// in the next call of drop_left_objects(). May be called from any thread, without a lock that
/// Python code may wait for.
void leave(PyObject* object) noexcept;

/// Releases the objects that leave() has taken over. The caller holds the GIL.
void drop_left_objects() noexcept;

/// Replaces the list of leave() by an empty one, in a forked child: another thread of the parent
/// may have held its lock.
void forget_left_objects() noexcept;

} // namespace superstep::python

// SPDX-License-Identifier: Apache-2.0
// Python objects that C++ threads release. Such a thread does not hold the GIL and must not wait
// for it, so it puts the object on a list, which the next thread with the GIL empties.
#include "left_objects.hpp"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#ifdef Py_LIMITED_API
// The stable ABI lacks this function, but all versions of Python since 3.4 export it.
extern "C" int PyGILState_Check(void);
#endif

namespace superstep::python {

namespace {

/// The list of references. Never destroyed: threads may still use it while the process exits.
struct left_list {
  std::mutex mutex;
  std::vector<PyObject*> objects;
  std::atomic<std::size_t> size{0};
  left_list* before = nullptr; ///< the list of the parent process, whose objects stay
};

std::atomic<left_list*> list_of_process{new left_list};

left_list& left() noexcept {
  return *list_of_process.load(std::memory_order_acquire);
}

} // namespace

void leave(PyObject* object) noexcept {
  if (PyGILState_Check() != 0) {
    Py_DECREF(object);
    return;
  }
  auto& list = left();
  const auto lock = std::scoped_lock{list.mutex};
  list.objects.push_back(object);
  list.size.store(list.objects.size(), std::memory_order_relaxed);
}

void drop_left_objects() noexcept {
  auto& list = left();
  if (list.size.load(std::memory_order_relaxed) == 0)
    return;
  auto mine = std::vector<PyObject*>{};
  {
    const auto lock = std::scoped_lock{list.mutex};
    mine.swap(list.objects);
    list.size.store(0, std::memory_order_relaxed);
  }
  for (auto* const object : mine)
    Py_DECREF(object); // outside the lock: finalizers are arbitrary code
}

void forget_left_objects() noexcept {
  auto* const fresh = new left_list;
  fresh->before = &left();
  list_of_process.store(fresh, std::memory_order_release);
}

} // namespace superstep::python

// SPDX-License-Identifier: Apache-2.0
// What the thread pool of the Python package uses of Python, without Python: objects that only count
// their references, and a lock as the GIL. With them, ThreadSanitizer sees the pool alone.
#pragma once

#include <atomic>
#include <mutex>

/// An object that only counts its references. They are not atomic, so ThreadSanitizer reports a
/// thread that counts without the lock.
struct PyObject {
  long references = 1;
  static inline long live = 0; ///< number of objects; needs the lock
};

inline void Py_DECREF(PyObject* object) {
  if (--object->references == 0) {
    --PyObject::live;
    delete object;
  }
}

/// The lock that plays the GIL.
struct interpreter_lock {
  static inline std::mutex mutex;
  static inline thread_local bool is_mine = false;
  static inline std::atomic<long> waiting{0}; ///< number of threads that want the lock

  static void take() {
    waiting.fetch_add(1);
    mutex.lock();
    waiting.fetch_sub(1);
    is_mine = true;
  }
  static void give() {
    is_mine = false;
    mutex.unlock();
  }
};

struct PyThreadState {};
enum PyGILState_STATE { PyGILState_LOCKED, PyGILState_UNLOCKED };

inline PyThreadState* PyEval_SaveThread() {
  static auto state = PyThreadState{};
  interpreter_lock::give();
  return &state;
}

inline void PyEval_RestoreThread(PyThreadState*) {
  interpreter_lock::take();
}

inline int PyGILState_Check() {
  return interpreter_lock::is_mine ? 1 : 0;
}

inline PyGILState_STATE PyGILState_Ensure() {
  interpreter_lock::take();
  return PyGILState_UNLOCKED;
}

inline void PyGILState_Release(PyGILState_STATE) {
  interpreter_lock::give();
}

namespace nanobind {} // namespace nanobind

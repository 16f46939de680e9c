// SPDX-License-Identifier: Apache-2.0
// A definition of std::condition_variable::wait() for this module. The one that g++ 12 refers to
// exists in libstdc++ since GCC 12 only, so the module would not load on systems with an older one,
// such as RHEL 9. The linker option --wrap replaces it by this function, which does the same.
#include <condition_variable>
#include <mutex>

#include <pthread.h>

extern "C" void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable* condition, std::unique_lock<std::mutex>* lock) noexcept {
  ::pthread_cond_wait(condition->native_handle(), lock->mutex()->native_handle());
}

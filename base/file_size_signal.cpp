// SPDX-License-Identifier: Apache-2.0
// Turns SIGXFSZ into EFBIG for the calling thread by blocking the signal.
#include "base/file_size_signal.hpp"

#include <csignal>
#include <ctime>

namespace superstep::detail {

namespace {

sigset_t file_size_signal() noexcept {
  auto set = sigset_t{};
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

} // namespace

file_size_signal_blocked::file_size_signal_blocked() noexcept {
  auto set = file_size_signal();
  auto before = sigset_t{};
  pthread_sigmask(SIG_BLOCK, &set, &before);
  was_blocked_ = sigismember(&before, SIGXFSZ) == 1;
}

file_size_signal_blocked::~file_size_signal_blocked() {
  if (was_blocked_)
    return;
  // A write that failed has left a pending signal. It must be consumed before the signal is
  // unblocked, or it would kill the process now.
  auto set = file_size_signal();
  const auto at_once = timespec{0, 0};
  sigtimedwait(&set, nullptr, &at_once); // takes a signal that is still pending
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
// Blocks SIGXFSZ on the calling thread, so that a write beyond the file-size limit fails with
// EFBIG.
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
  // A failed write has left a pending signal. It is consumed before the signal is unblocked;
  // otherwise it would now kill the process.
  auto set = file_size_signal();
  const auto at_once = timespec{0, 0};
  sigtimedwait(&set, nullptr, &at_once); // returns at once, also if no signal is pending
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

} // namespace superstep::detail

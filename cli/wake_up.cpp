// SPDX-License-Identifier: Apache-2.0
// Wakes the thread of a conversation when the user presses Ctrl-C or another thread has an event.
// It uses an eventfd, because poll(2) can wait for it together with standard input.
#include "cli/wake_up.hpp"

#include <superstep/base/detail/assert.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace superstep::cli {

namespace {

// Global, because a signal handler has no other way to reach an object.
auto listener = std::atomic<int>{-1};
auto was_interrupted = std::atomic<bool>{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void ring(int event) noexcept {
  const auto one = std::uint64_t{1};
  // The write fails only if the counter of the eventfd is at its maximum. The reader wakes up in
  // that case too.
  [[maybe_unused]] const auto written = ::write(event, &one, sizeof one);
}

extern "C" void on_interrupt(int) {
  const auto saved = errno;
  was_interrupted.store(true);
  if (const auto event = listener.load(); event >= 0)
    ring(event);
  errno = saved;
}

} // namespace

wake_up::wake_up() : event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  if (event_ < 0)
    throw std::system_error{errno, std::generic_category(), "cannot create an eventfd"};
  SUPERSTEP_ASSERT(listener.load() < 0);
  listener.store(event_);
  was_interrupted.store(false);
  std::signal(SIGINT, on_interrupt);
}

wake_up::~wake_up() {
  std::signal(SIGINT, SIG_DFL);
  listener.store(-1);
  ::close(event_);
}

void wake_up::call() const noexcept {
  ring(event_);
}

void wake_up::sleep(int input) const {
  auto waiting = std::array{pollfd{event_, POLLIN, 0}, pollfd{input, POLLIN, 0}};
  if (::poll(waiting.data(), waiting.size(), -1) < 0)
    return; // interrupted by a signal
  auto count = std::uint64_t{0};
  if (waiting[0].revents != 0) [[maybe_unused]]
    const auto taken = ::read(event_, &count, sizeof count);
}

bool wake_up::take_interrupt() const noexcept {
  return was_interrupted.exchange(false);
}

} // namespace superstep::cli

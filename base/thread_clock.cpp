// SPDX-License-Identifier: Apache-2.0
// Observes the threads of this process by their CPU clocks, and by their states in /proc.
#include "base/thread_clock.hpp"

#include <array>
#include <cstdio>
#include <string_view>

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace superstep {

thread_clock thread_clock::of_this_thread() noexcept {
  auto out = thread_clock{};
  if (::pthread_getcpuclockid(::pthread_self(), &out.clock_) == 0)
    out.kernel_id_ = static_cast<int>(::syscall(SYS_gettid));
  return out;
}

std::optional<std::chrono::nanoseconds> thread_clock::used() const noexcept {
  auto time = timespec{};
  if (kernel_id_ == 0 || ::clock_gettime(clock_, &time) != 0)
    return std::nullopt;
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

bool thread_clock::is_runnable() const noexcept {
  auto path = std::array<char, 64>{};
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/stat", kernel_id_);
  const auto file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return true;
  auto text = std::array<char, 256>{};
  const auto n = ::read(file, text.data(), text.size());
  ::close(file);
  const auto line = std::string_view{text.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
  // the last `)`, because the name of the thread before it may contain any character
  const auto after_name = line.rfind(')');
  return after_name == std::string_view::npos || after_name + 2 >= line.size() ||
         line[after_name + 2] == 'R';
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// Standard output whose reader ends early, such as `head`.
#include "cli/standard_output.hpp"

#include <iostream>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace superstep::cli {

bool has_reader_ended() noexcept {
  auto state = pollfd{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLERR | POLLHUP)) != 0;
}

void discard_standard_output() {
  if (const auto nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC); nothing >= 0) {
    static_cast<void>(::dup2(nothing, STDOUT_FILENO));
    static_cast<void>(::close(nothing));
  }
  std::cout.clear();
}

} // namespace superstep::cli

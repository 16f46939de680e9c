// SPDX-License-Identifier: Apache-2.0
// The terminal at standard error: whether it can redraw a line, its width, and changes of the
// width.
#include "cli/terminal.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace superstep::cli {

namespace {

// Global, because a signal handler has no other way to reach an object.
std::atomic<bool> is_resized{false};

extern "C" void on_resize(int) {
  is_resized.store(true, std::memory_order_relaxed);
}

std::string_view variable(const char* name) {
  const auto* value = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
  return value != nullptr ? value : "";
}

std::size_t columns_of_standard_error() {
  auto size = winsize{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : std::size_t{0};
}

} // namespace

bool has_redrawable_terminal() {
  const auto term = variable("TERM");
  return ::isatty(STDERR_FILENO) != 0 && !term.empty() && term != "dumb" &&
         variable("NO_COLOR").empty();
}

progress_terminal terminal_of_standard_error() {
  std::signal(SIGWINCH, on_resize);
  auto out = progress_terminal{};
  out.columns = columns_of_standard_error;
  out.was_resized = [] { return is_resized.exchange(false, std::memory_order_relaxed); };
  return out;
}

} // namespace superstep::cli

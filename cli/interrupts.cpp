// SPDX-License-Identifier: Apache-2.0
// Turns signals into a stop request.
#include "cli/interrupts.hpp"

#include <csignal>

namespace superstep::cli {

namespace {

extern "C" void on_job_signal(int) {
  interrupts().request();
}

} // namespace

// Global, because a signal handler has no other way to reach an object.
stop_request& interrupts() {
  static auto request = stop_request{};
  return request;
}

void install_interrupts() {
  static_cast<void>(interrupts()); // construct it now: a signal handler must not construct objects
  std::signal(SIGINT, on_job_signal);
  std::signal(SIGTERM, on_job_signal);
  std::signal(SIGPIPE, SIG_IGN);
}

} // namespace superstep::cli

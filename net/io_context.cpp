// SPDX-License-Identifier: Apache-2.0
// The I/O thread: starts and ends the thread on which connections, timers and child processes are
// handled (exchange.cpp, child_process.cpp).
#include "net/io_runtime_impl.hpp"

#include <csignal>
#include <system_error>

#include <pthread.h>

namespace superstep {

namespace {

// Blocks signals on the calling thread: they are meant for the application's threads. SIGPIPE would
// even end the process; it is raised by a write to a program that has closed its input.
void block_signals() noexcept {
  auto all = sigset_t{};
  sigfillset(&all);
  for (const auto fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    sigdelset(&all, fault);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

} // namespace

io_runtime::impl::impl() {
  try {
    thread = std::thread{[this] {
      block_signals();
      io.run();
    }};
  } catch (const std::system_error& e) {
    throw std::system_error{e.code(), "cannot start the I/O thread (see the limit of processes, "
                                      "ulimit -u)"};
  }
}

io_runtime::impl::~impl() {
  io.stop();
  thread.join();
}

io_runtime::io_runtime() : impl_{std::make_unique<impl>()} {}
io_runtime::~io_runtime() = default;

const std::shared_ptr<io_runtime>& shared_io_runtime() {
  static const auto shared = std::make_shared<io_runtime>();
  return shared;
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/program_guard.hpp"
#include "net/start_queue.hpp"

#include <superstep/net/io_runtime.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <thread>

namespace superstep {

namespace asio = boost::asio;

/// The Asio context and its thread. The destructor destroys pending operations without running
/// their handlers. Their objects (exchange, child) then report an error to the waiting coroutines.
struct io_runtime::impl {
  impl();
  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;
  ~impl();

  program_guard guard; ///< declared first, because the handlers that are destroyed with `io` use it
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  start_queue starts{io};
  /// Makes the context open its descriptors here, so that a lack of descriptors is reported by the
  /// constructor and not on the thread.
  asio::steady_timer first_timer{io};
  std::thread thread;
};

} // namespace superstep

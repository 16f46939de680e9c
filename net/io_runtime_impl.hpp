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
/// them; each then reports to its awaiting coroutine (exchange, child).
struct io_runtime::impl {
  impl();
  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;
  ~impl();

  program_guard guard; ///< outlives the handlers of programs, which are destroyed with `io`
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  start_queue starts{io};
  /// Starts a first timer, because the context then opens its descriptors. A lack of descriptors is
  /// reported here instead of on the thread.
  asio::steady_timer first_timer{io};
  std::thread thread;
};

} // namespace superstep

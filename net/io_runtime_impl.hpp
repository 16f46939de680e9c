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

/// The context and its thread. When it goes away, operations that are under way are destroyed, not
/// run; each of them then tells whoever awaits it (exchange, child).
struct io_runtime::impl {
  impl();
  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;
  ~impl();

  program_guard guard; ///< outlives the handlers of programs, which are destroyed with `io`
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  start_queue starts{io};
  /// The context opens its descriptors at the first timer: better here, where a lack of them is an
  /// error of the start, than on the thread.
  asio::steady_timer first_timer{io};
  std::thread thread;
};

} // namespace superstep

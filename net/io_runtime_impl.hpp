// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/net/io_context.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

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

  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  std::thread thread;
};

} // namespace superstep

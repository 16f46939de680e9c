// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>

namespace superstep {

/// Options of start_queue.
struct start_queue_options {
  std::size_t waiting_max = 100'000; ///< maximum length of the queue
  /// pause after the first failed attempt; doubled after each further one
  std::chrono::milliseconds pause_min{10};
  std::chrono::milliseconds pause_max{1'000}; ///< maximum pause between two attempts
};

/// The programs of one io_runtime that wait because the machine lacks descriptors, processes or
/// memory, in the order of arrival. Only the first one is tried: when another program has ended,
/// and after a pause that grows.
///
/// @par Threads
/// I/O thread only.
class start_queue {
public:
  /// Tries to start a program. Returns false if it must be tried again, true if it is done.
  using attempt = std::function<bool()>;

  explicit start_queue(boost::asio::io_context& io, start_queue_options options = {})
      : options_{options}, pause_{options.pause_min}, timer_{io} {}
  start_queue(const start_queue&) = delete;
  start_queue& operator=(const start_queue&) = delete;

  /// Tries to start a program at once if no other program waits; otherwise adds it to the queue.
  /// Returns false if the queue is full.
  [[nodiscard]] bool add(attempt one);
  /// Tries the first program, because another one has ended and released resources.
  void room();

private:
  void try_first();
  void try_later();

  start_queue_options options_;
  std::chrono::milliseconds pause_;
  std::deque<attempt> waiting_;
  boost::asio::steady_timer timer_;
};

} // namespace superstep

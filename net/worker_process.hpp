// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/io_runtime_impl.hpp"

#include <superstep/net/detail/child_process.hpp>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace superstep {

class worker_process;

/// Receives the events of worker processes. All members are called on the I/O thread.
class worker_listener {
public:
  worker_listener() = default;
  worker_listener(const worker_listener&) = delete;
  worker_listener& operator=(const worker_listener&) = delete;

  /// The program has started and can receive lines.
  virtual void on_started(worker_process& worker) = 0;
  /// The program could not be started; no other event follows.
  virtual void on_start_failed(worker_process& worker, const error& why) = 0;
  /// The program has written a line.
  /// @param is_last whether no further bytes were read together with the line
  virtual void on_line(worker_process& worker, std::string_view line, bool is_last) = 0;
  /// The program has written a line that is longer than the limit.
  virtual void on_long_line(worker_process& worker) = 0;
  /// The program has ended; no other event follows.
  /// @param how for example "ended with status 1"
  virtual void on_ended(worker_process& worker, const std::string& how) = 0;

protected:
  ~worker_listener() = default;
};

/// A program that reads lines from its standard input and writes lines to its standard output.
///
/// It has its own process group, which the guard kills if this process ends. Its handlers keep the
/// object alive until the program is reaped.
///
/// @par Threads
/// I/O thread only.
class worker_process : public std::enable_shared_from_this<worker_process> {
public:
  /// @param request the program; `output_bytes_max` limits one line, `error_bytes_max` the kept end
  ///   of standard error, and `start_wait_max` the wait for descriptors, processes and memory
  worker_process(io_runtime::impl& io, const process_request& request,
                 std::weak_ptr<worker_listener> listener);
  worker_process(const worker_process&) = delete;
  worker_process& operator=(const worker_process&) = delete;
  ~worker_process();

  /// Starts the program, or waits until the machine has resources for it.
  void start();
  /// Writes a line, which must end with a line break. If the program has ended but on_ended() was
  /// not called yet, the line counts as unread. @pre the program has started
  void send(std::string line);
  /// Closes standard input after all lines were written, so that the program can end by itself.
  void close_input();
  /// Kills the program and its children; on_ended() follows. A program that waits to be started is
  /// dropped without an event.
  void kill();
  /// Drops what the program has written to standard error so far.
  void forget_errors();
  /// Returns the end of what the program has written to standard error since forget_errors().
  [[nodiscard]] const std::string& errors() const noexcept { return error_text_; }
  /// Whether the program has ended before it read the whole last line.
  [[nodiscard]] bool has_unread_line() const noexcept { return has_unread_line_; }
  /// Reads what standard error contains at the moment, then returns its end.
  [[nodiscard]] const std::string& read_errors_now();

private:
  /// The course is waiting, running, over. A program that is not started goes from waiting to over.
  enum class phase : std::uint8_t { waiting, running, over };

  [[nodiscard]] bool try_start();
  void limit_start_wait();
  void write_next();
  void wait_for_output();
  [[nodiscard]] boost::system::error_code read_output();
  void wait_for_errors();
  [[nodiscard]] boost::system::error_code read_errors();
  void take_output(std::size_t got);
  void output_closed();
  void wait_for_end();
  [[nodiscard]] bool is_running() const noexcept;
  void reap() noexcept;
  void finish();

  io_runtime::impl& io_;
  process_request request_;
  std::weak_ptr<worker_listener> listener_;
  asio::posix::stream_descriptor input_;
  asio::posix::stream_descriptor output_;
  asio::posix::stream_descriptor errors_;
  asio::posix::stream_descriptor ended_;
  asio::steady_timer timer_;
  phase phase_ = phase::waiting;
  std::string shortage_ = "other programs are waiting to be started first";
  int pid_ = 0;                     // 0 if the program is not started or already reaped
  int status_ = 0;                  // of waitpid()
  std::deque<std::string> to_send_; // the first line is being written
  bool closes_input_ = false;       // whether to close standard input when to_send_ is empty
  bool has_unread_line_ = false;
  std::string line_; // the bytes since the last line break
  std::string error_text_;
  std::array<char, 16 * 1024> output_piece_;
  std::array<char, 4 * 1024> error_piece_;
};

} // namespace superstep

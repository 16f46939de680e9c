// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace superstep::testing {

/// A place within the protocol of one statement.
enum class statement_phase : std::uint8_t {
  before,  ///< before the server gets anything of it
  partly,  ///< the server has its text, but not the order to run it
  running, ///< the server has all of it
  ended,   ///< the server has committed, and its answer has not reached the client
  answer,  ///< the client has the beginning of the answer
};

/// An event at one statement.
struct interruption {
  std::size_t at = 0; ///< number of the statement, from 1; 0 for none
  statement_phase phase = statement_phase::before;
  /// Called once at that place, on a thread of the proxy. The proxy then closes the connection.
  std::function<void()> act{};
};

/// A proxy between clients and a PostgreSQL server on Unix sockets. It counts the calls of one
/// function of the server, and interrupts the connection at one of them.
class statement_proxy {
public:
  /// @param folder folder of the server's socket, of port 5432; the proxy's port is 5433
  /// @param function the statements that contain this text are counted
  statement_proxy(std::string folder, std::string function);
  statement_proxy(const statement_proxy&) = delete;
  statement_proxy& operator=(const statement_proxy&) = delete;
  ~statement_proxy();

  /// Starts to count from 0.
  void plan(interruption what);
  [[nodiscard]] std::size_t count() const noexcept { return count_.load(); }
  /// Returns the URL of the proxy.
  [[nodiscard]] std::string url() const;

private:
  class connection;

  void accept();

  const std::string folder_;
  const std::string function_;
  int listener_ = -1;
  std::atomic<bool> is_stopping_{false};
  std::atomic<std::size_t> count_{0};
  std::mutex mutex_; ///< protects the members below
  interruption plan_;
  std::vector<std::unique_ptr<connection>> connections_;
  std::thread thread_;
};

} // namespace superstep::testing

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

#include <sys/types.h>

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
  /// Called once at that place, on a thread of the proxy, with the id of the client's process.
  std::function<void(pid_t client)> act{};
  bool cuts = true; ///< whether the proxy then closes the connection; otherwise it continues
};

/// A proxy between clients and a PostgreSQL server or a pooler on Unix sockets. It counts the calls
/// of one function of the server, and interrupts the connection at one of them.
class statement_proxy {
public:
  /// @param folder folder of the server's socket; the proxy's socket there has port 5433
  /// @param function the statements that contain this text are counted
  /// @param port port of the server's or pooler's socket
  statement_proxy(std::string folder, std::string function, int port = 5432);
  statement_proxy(const statement_proxy&) = delete;
  statement_proxy& operator=(const statement_proxy&) = delete;
  ~statement_proxy();

  /// Starts to count from 0.
  void plan(interruption what);
  /// Counts the calls of another function from now on.
  void plan(interruption what, std::string function);
  [[nodiscard]] std::size_t count();
  /// Returns the URL of the proxy.
  [[nodiscard]] std::string url() const;

private:
  class connection;

  void accept();

  const std::string folder_;
  const int port_;
  int listener_ = -1;
  std::atomic<bool> is_stopping_{false};
  std::mutex mutex_; ///< protects the members below
  std::string function_;
  std::size_t total_ = 0;                                ///< statements counted since the start
  std::size_t planned_ = 0;                              ///< `total_` at the last plan()
  interruption plan_;                                    ///< `at` counts from the start
  std::vector<std::unique_ptr<connection>> connections_; ///< used by the thread alone
  std::thread thread_;
};

} // namespace superstep::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "postgres/pg_connection.hpp"
#include "system/process.hpp"

#include <memory>
#include <string>
#include <vector>

namespace superstep::testing {

class postgres_server;

/// Selects the constructor of a replica.
struct replica_of {
  const postgres_server& primary;
};

/// A PostgreSQL server of its own, with a new database in a temporary folder and a Unix socket. It
/// refuses to run as root, so it runs as the user `postgres` then. The destructor stops it.
class postgres_server {
public:
  postgres_server();
  /// Makes a streaming replica of another server. It accepts only reads until it is promoted.
  explicit postgres_server(const replica_of& what);
  ~postgres_server();
  postgres_server(const postgres_server&) = delete;
  postgres_server& operator=(const postgres_server&) = delete;

  /// Returns the URL of the database for superstep.
  [[nodiscard]] std::string url(const std::string& user = "postgres") const;
  /// Returns the folder of the socket and of other files that the server's user can read.
  [[nodiscard]] std::string folder() const { return folder_ / ""; }
  /// Stops the server without a checkpoint, as after a crash: SIGQUIT is what `pg_ctl stop -m
  /// immediate` sends, and SIGKILL ends the main process alone.
  void crash(int signal);
  /// Starts the server again, and waits until it answers.
  void start();
  [[nodiscard]] detail::pg_connection connect(const std::string& user = "postgres") const;
  /// Runs SQL statements without parameters.
  void run(const std::string& statements) const;
  /// Returns the first value of the answer to a statement.
  [[nodiscard]] std::string value(const std::string& statement) const;
  /// Waits until a statement of the server waits for a lock, or for ten seconds.
  void await_lock_wait() const;

private:
  void make_data(const std::vector<std::string>& command);

  temporary_folder folder_;
  std::unique_ptr<process> server_;
};

/// Returns the arguments that run a program as the user of the server. The program is killed when
/// the calling thread ends.
[[nodiscard]] std::vector<std::string> as_server_user(std::vector<std::string> arguments);

} // namespace superstep::testing

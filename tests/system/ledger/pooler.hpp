// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "postgres_server.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

namespace superstep::testing {

/// A pooler in transaction mode. Two server connections serve all workers, and each transaction may
/// get another one.
class pooler {
public:
  static constexpr auto port = 6432;

  explicit pooler(const postgres_server& server) : server_{server} {
    const auto settings = server.folder() + "pgbouncer.ini";
    write_file(settings, "[databases]\npostgres = host=" + server.folder() +
                             " user=postgres\n[pgbouncer]\nunix_socket_dir = " + server.folder() +
                             "\nlisten_port = 6432\nauth_type = any\npool_mode = transaction\n"
                             "default_pool_size = 2\nserver_login_retry = 1\n");
    std::filesystem::permissions(settings, std::filesystem::perms::others_read,
                                 std::filesystem::perm_options::add);
    start();
  }

  [[nodiscard]] std::string url() const {
    return "postgresql:///postgres?port=6432&user=postgres&host=" + server_.folder();
  }

  void start() {
    std::filesystem::remove(socket());
    process_ = std::make_unique<process>(
        as_server_user({"/usr/sbin/pgbouncer", server_.folder() + "pgbouncer.ini"}));
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (!std::filesystem::exists(socket()) && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }

  void kill() {
    process_->send(SIGKILL);
    static_cast<void>(process_->wait());
  }

private:
  [[nodiscard]] std::string socket() const { return server_.folder() + ".s.PGSQL.6432"; }

  const postgres_server& server_;
  std::unique_ptr<process> process_;
};

} // namespace superstep::testing

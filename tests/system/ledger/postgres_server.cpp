// SPDX-License-Identifier: Apache-2.0
// Starts PostgreSQL for tests.
#include "postgres_server.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include <pwd.h>
#include <unistd.h>

namespace superstep::testing {

namespace {

namespace fs = std::filesystem;

/// Returns the folder with the programs of the newest server that is installed.
std::string server_programs() {
  auto newest = std::string{};
  auto ignored = std::error_code{};
  for (const auto& version : fs::directory_iterator{"/usr/lib/postgresql", ignored})
    if (fs::exists(version.path() / "bin/initdb"))
      newest = std::max(newest, (version.path() / "bin").string());
  if (newest.empty())
    throw std::runtime_error{"PostgreSQL is not installed: scripts/test installs it"};
  return newest;
}

} // namespace

std::vector<std::string> as_server_user(std::vector<std::string> arguments) {
  // A test that is killed must not leave a server.
  auto become = std::vector<std::string>{"setpriv", "--pdeathsig=KILL"};
  if (::geteuid() == 0) {
    become.insert(become.end(), {"--reuid=postgres", "--regid=postgres", "--clear-groups"});
    // In some containers, only root may enter the folder `/`. The capability to do so is respected
    // by access() only with the bit no_setuid_fixup.
    if ((fs::status("/").permissions() & fs::perms::others_exec) == fs::perms::none)
      become.insert(become.end(), {"--securebits=+no_setuid_fixup", "--inh-caps=+dac_read_search",
                                   "--ambient-caps=+dac_read_search"});
  }
  arguments.insert(arguments.begin(), become.begin(), become.end());
  return arguments;
}

postgres_server::postgres_server() {
  make_data({server_programs() + "/initdb", "-D", folder_ / "data", "-U", "postgres", "-A", "trust",
             "-E", "UTF8", "--no-locale", "--no-sync"});
}

postgres_server::postgres_server(const replica_of& what) {
  make_data({server_programs() + "/pg_basebackup", "-D", folder_ / "data", "-U", "postgres", "-h",
             what.primary.folder(), "--write-recovery-conf", "--checkpoint=fast", "--no-sync"});
}

/// Runs the command that makes the folder `data`, and starts the server.
void postgres_server::make_data(const std::vector<std::string>& command) {
  if (::geteuid() == 0) {
    const auto* const user = ::getpwnam("postgres");
    if (user == nullptr || ::chown(folder().c_str(), user->pw_uid, user->pw_gid) != 0)
      throw std::runtime_error{"cannot give the folder to the user postgres"};
  }
  if (const auto end = process{as_server_user(command)}.wait(); end.exit_code != 0)
    throw std::runtime_error{command.front() + " failed: " + end.err};
  start();
}

postgres_server::~postgres_server() {
  if (!server_)
    return;
  server_->send(SIGINT); // disconnect all clients
  static_cast<void>(server_->wait_for(std::chrono::seconds{20}));
}

std::string postgres_server::url(const std::string& user) const {
  return "postgresql:///postgres?host=" + folder() + "&user=" + user;
}

void postgres_server::crash(int signal) {
  server_->send(signal);
  static_cast<void>(server_->wait());
  server_.reset();
}

void postgres_server::start() {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes{1};
  while (std::chrono::steady_clock::now() < limit) {
    // After SIGKILL, the server's other processes need a moment to end.
    if (!server_ || server_->wait_for(std::chrono::milliseconds{0}))
      server_ = std::make_unique<process>(as_server_user(
          {server_programs() + "/postgres", "-D", folder_ / "data", "-k", folder(), "-c",
           "listen_addresses=", "-c", "shared_buffers=32MB", "-c", "max_connections=50"}));
    if (connect().connect())
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }
  server_->send(SIGKILL);
  throw std::runtime_error{"the server does not start: " + server_->wait().err};
}

detail::pg_connection postgres_server::connect(const std::string& user) const {
  return detail::pg_connection{*detail::check_address(url(user), false)};
}

void postgres_server::run(const std::string& statements) const {
  if (const auto done = connect().run_script(statements.c_str()); !done)
    throw std::runtime_error{done.error().text};
}

std::string postgres_server::value(const std::string& statement) const {
  const auto rows = connect().run(statement.c_str());
  if (!rows)
    throw std::runtime_error{rows.error().text};
  return rows->size() > 0 ? std::string{rows->text(0, 0)} : std::string{};
}

void postgres_server::await_lock_wait() const {
  const auto* const waiting =
      "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
  for (auto i = 0; i < 500 && value(waiting) == "0"; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
}

} // namespace superstep::testing

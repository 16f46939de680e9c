// SPDX-License-Identifier: Apache-2.0
// Passes the messages of PostgreSQL's protocol on, and interrupts them between any two.
#include "statement_proxy.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace superstep::testing {

namespace {

int unix_socket(const std::string& path, bool listens) {
  const auto made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto at = sockaddr_un{};
  at.sun_family = AF_UNIX;
  path.copy(at.sun_path, sizeof at.sun_path - 1);
  const auto* const to = reinterpret_cast<const sockaddr*>(&at);
  const auto failed = listens ? ::bind(made, to, sizeof at) != 0 || ::listen(made, 64) != 0
                              : ::connect(made, to, sizeof at) != 0;
  if (!failed)
    return made;
  ::close(made);
  return -1;
}

bool read_all(int from, char* into, std::size_t size) {
  while (size > 0) {
    const auto got = ::recv(from, into, size, 0);
    if (got <= 0)
      return false;
    into += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool send_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0)
      return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// Reads one message of a client: a letter, except in the first message, a length, and the rest.
bool read_message(int from, bool is_first, std::string& out) {
  const auto letters = is_first ? std::size_t{0} : std::size_t{1};
  out.resize(letters + 4);
  if (!read_all(from, out.data(), out.size()))
    return false;
  auto length = std::size_t{0};
  for (auto i = letters; i < letters + 4; ++i)
    length = length << 8U | static_cast<unsigned char>(out[i]);
  const auto begun = out.size();
  out.resize(letters + length);
  return read_all(from, out.data() + begun, out.size() - begun);
}

} // namespace

/// A client's connection, with one thread for each direction.
class statement_proxy::connection {
public:
  connection(statement_proxy& of, int client, int server)
      : of_{of}, client_{client}, server_{server}, client_process_{process_of(client)}, up_{[this] {
          pass_up();
          --threads_;
        }},
        down_{[this] {
          pass_down();
          --threads_;
        }} {}
  ~connection() {
    close();
    up_.join();
    down_.join();
    ::close(client_);
    ::close(server_);
  }

  /// Whether both directions are closed.
  [[nodiscard]] bool has_ended() const noexcept { return threads_ == 0; }

private:
  static pid_t process_of(int client) {
    auto peer = ucred{};
    auto size = socklen_t{sizeof peer};
    return ::getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
  }

  void close() {
    ::shutdown(client_, SHUT_RDWR);
    ::shutdown(server_, SHUT_RDWR);
  }

  /// Acts if the plan names this phase of the current statement. Returns whether it has closed the
  /// connection.
  bool interrupt(statement_phase phase) {
    auto now = interruption{};
    {
      const auto lock = std::scoped_lock{of_.mutex_};
      if (statement_ == 0 || of_.plan_.at != statement_ || of_.plan_.phase != phase)
        return false;
      now = std::exchange(of_.plan_, {});
    }
    if (now.act)
      now.act(client_process_);
    if (now.cuts)
      close();
    return now.cuts;
  }

  /// Returns the number of a statement; 0 if it is not counted.
  std::size_t count(std::string_view statement) {
    const auto lock = std::scoped_lock{of_.mutex_};
    return statement.find(of_.function_) != std::string::npos ? ++of_.total_ : 0;
  }

  void pass_up() {
    auto message = std::string{};
    for (auto is_first = true; read_message(client_, is_first, message); is_first = false) {
      const auto letter = is_first ? '\0' : message[0];
      if (letter == 'P')
        statement_ = count(message);
      if (letter == 'P' && interrupt(statement_phase::before))
        return;
      if (letter == 'S' && interrupt(statement_phase::partly))
        return;
      if (!send_all(server_, message))
        break;
      if (letter == 'S' && interrupt(statement_phase::running))
        return;
    }
    close();
  }

  void pass_down() {
    auto bytes = std::array<char, 65'536>{};
    while (true) {
      const auto got = ::recv(server_, bytes.data(), bytes.size(), 0);
      if (got <= 0)
        break;
      if (interrupt(statement_phase::ended))
        return;
      const auto part = std::string_view{bytes.data(), static_cast<std::size_t>(got)};
      constexpr auto beginning = std::size_t{7};
      if (is_planned(statement_phase::answer)) {
        (void)send_all(client_, part.substr(0, beginning));
        if (interrupt(statement_phase::answer))
          return;
        if (!send_all(client_, part.substr(std::min(beginning, part.size()))))
          break;
      } else if (!send_all(client_, part)) {
        break;
      }
    }
    close();
  }

  bool is_planned(statement_phase phase) {
    const auto lock = std::scoped_lock{of_.mutex_};
    return statement_ != 0 && of_.plan_.at == statement_ && of_.plan_.phase == phase;
  }

  statement_proxy& of_;
  const int client_;
  const int server_;
  const pid_t client_process_;
  std::atomic<int> threads_{2};
  std::atomic<std::size_t> statement_{0}; ///< number of the current statement; 0 for others
  std::thread up_;
  std::thread down_;
};

statement_proxy::statement_proxy(std::string folder, std::string function, int port)
    : folder_{std::move(folder)}, port_{port}, function_{std::move(function)} {
  const auto path = folder_ + "/.s.PGSQL.5433";
  ::unlink(path.c_str());
  listener_ = unix_socket(path, true);
  if (listener_ < 0)
    throw std::runtime_error{"cannot listen at " + path};
  thread_ = std::thread{[this] { accept(); }};
}

statement_proxy::~statement_proxy() {
  is_stopping_ = true;
  thread_.join();
  connections_.clear();
  ::close(listener_);
}

void statement_proxy::plan(interruption what) {
  const auto lock = std::scoped_lock{mutex_};
  planned_ = total_;
  plan_ = std::move(what);
  // A statement that was counted before keeps its number, so the plan does not apply to it.
  plan_.at = plan_.at == 0 ? 0 : plan_.at + total_;
}

void statement_proxy::plan(interruption what, std::string function) {
  {
    const auto lock = std::scoped_lock{mutex_};
    plan_ = {};
    function_ = std::move(function);
  }
  plan(std::move(what));
}

std::size_t statement_proxy::count() {
  const auto lock = std::scoped_lock{mutex_};
  return total_ - planned_;
}

std::string statement_proxy::url() const {
  return "postgresql:///postgres?host=" + folder_ + "&port=5433&user=postgres";
}

void statement_proxy::accept() {
  constexpr auto poll_ms = 20;
  while (!is_stopping_) {
    auto polled = pollfd{listener_, POLLIN, 0};
    if (::poll(&polled, 1, poll_ms) <= 0)
      continue;
    const auto client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0)
      continue;
    const auto server = unix_socket(folder_ + "/.s.PGSQL." + std::to_string(port_), false);
    if (server < 0) {
      ::close(client);
      continue;
    }
    std::erase_if(connections_, [](const auto& each) { return each->has_ended(); });
    connections_.push_back(std::make_unique<connection>(*this, client, server));
  }
}

} // namespace superstep::testing

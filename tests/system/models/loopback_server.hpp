// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio.hpp>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace superstep::test {

/// A TCP server that serves each connection by a function on its own thread; the function may
/// block. For tests that control the exact bytes of a server and when it disconnects.
class loopback_server {
public:
  using socket = boost::asio::ip::tcp::socket;
  using serve_type = std::function<void(socket&, int number)>;

  explicit loopback_server(serve_type serve)
      : serve_{std::move(serve)}, acceptor_{io_, {boost::asio::ip::address_v4::loopback(), 0}},
        thread_{[this] { accept(); }} {}
  loopback_server(const loopback_server&) = delete;
  loopback_server& operator=(const loopback_server&) = delete;
  ~loopback_server() {
    is_ended_ = true;
    auto failed = boost::system::error_code{};
    auto last = socket{io_};
    last.connect(acceptor_.local_endpoint(), failed); // wakes accept()
    thread_.join();
    for (auto& open : sockets_)
      if (open->is_open())
        ::shutdown(open->native_handle(), SHUT_RDWR);
    for (auto& one : threads_)
      one.join();
  }

  [[nodiscard]] std::string address() const {
    return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  [[nodiscard]] unsigned short port() const { return acceptor_.local_endpoint().port(); }
  [[nodiscard]] int connections() const { return connections_; }

  /// Returns the header of the next request; empty if the client has disconnected.
  static std::string read_head(socket& from) {
    auto text = std::string{};
    auto failed = boost::system::error_code{};
    boost::asio::read_until(from, boost::asio::dynamic_buffer(text), "\r\n\r\n", failed);
    return failed ? std::string{} : text;
  }
  static void write(socket& to, const std::string& text) {
    auto failed = boost::system::error_code{};
    boost::asio::write(to, boost::asio::buffer(text), failed);
  }
  static std::string answer(const std::string& body) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

private:
  void accept() {
    for (;;) {
      auto next = std::make_shared<socket>(io_);
      acceptor_.accept(*next);
      if (is_ended_)
        return;
      const auto number = connections_++;
      sockets_.push_back(next);
      threads_.emplace_back([this, next, number] {
        serve_(*next, number);
        auto failed = boost::system::error_code{};
        next->shutdown(socket::shutdown_both, failed);
      });
    }
  }

  serve_type serve_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::atomic<bool> is_ended_{false};
  std::atomic<int> connections_{0};
  std::vector<std::shared_ptr<socket>> sockets_;
  std::vector<std::thread> threads_;
  std::thread thread_;
};

} // namespace superstep::test

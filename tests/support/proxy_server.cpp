// SPDX-License-Identifier: Apache-2.0
// An HTTP proxy on loopback for tests, run as a separate process. It connects to one local port,
// whatever host is requested.
//
//     proxy_server PORT [AUTHORIZATION]
//
// Requests without the authorization are answered with 407. The proxy prints its port, then one
// line per connection: `tunnel <host:port>` or `request <address>`. It ends when its standard input
// ends.
#include <boost/asio.hpp>

#include <iostream>
#include <memory>
#include <string>

#include <unistd.h>

namespace asio = boost::asio;
using asio::ip::tcp;
using socket_ptr = std::shared_ptr<tcp::socket>;

namespace {

asio::awaitable<void> copy(socket_ptr from, socket_ptr to) {
  auto failed = boost::system::error_code{};
  auto bytes = std::string(16 * 1024, '\0');
  while (!failed) {
    const auto got = co_await from->async_read_some(
        asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, failed));
    if (!failed)
      co_await asio::async_write(*to, asio::buffer(bytes.data(), got),
                                 asio::redirect_error(asio::use_awaitable, failed));
  }
  to->shutdown(tcp::socket::shutdown_send, failed);
}

asio::awaitable<void> pass_on(socket_ptr client, unsigned short port, std::string authorization) {
  auto text = std::string{};
  auto failed = boost::system::error_code{};
  const auto head =
      co_await asio::async_read_until(*client, asio::dynamic_buffer(text), "\r\n\r\n",
                                      asio::redirect_error(asio::use_awaitable, failed));
  if (failed)
    co_return;
  if (text.substr(0, head).find("Proxy-Authorization: " + authorization + "\r\n") == text.npos &&
      !authorization.empty()) {
    const auto refusal =
        std::string{"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"};
    co_await asio::async_write(*client, asio::buffer(refusal), asio::use_awaitable);
    co_return;
  }
  const auto is_tunnel = text.starts_with("CONNECT ");
  const auto begin = text.find(' ') + 1;
  std::cout << (is_tunnel ? "tunnel " : "request ")
            << text.substr(begin, text.find(' ', begin) - begin) << std::endl;
  auto server = std::make_shared<tcp::socket>(client->get_executor());
  co_await server->async_connect({asio::ip::address_v4::loopback(), port},
                                 asio::redirect_error(asio::use_awaitable, failed));
  if (failed)
    co_return;
  if (is_tunnel) {
    const auto done = std::string{"HTTP/1.1 200 Connection established\r\n\r\n"};
    co_await asio::async_write(*client, asio::buffer(done), asio::use_awaitable);
    text.erase(0, head);
  }
  co_await asio::async_write(*server, asio::buffer(text),
                             asio::redirect_error(asio::use_awaitable, failed));
  asio::co_spawn(client->get_executor(), copy(server, client), asio::detached);
  co_await copy(client, server);
}

asio::awaitable<void> serve(tcp::acceptor& acceptor, unsigned short port,
                            std::string authorization) {
  for (;;) {
    auto client =
        std::make_shared<tcp::socket>(co_await acceptor.async_accept(asio::use_awaitable));
    asio::co_spawn(acceptor.get_executor(), pass_on(client, port, authorization), asio::detached);
  }
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2)
    return 1;
  auto io = asio::io_context{1};
  auto acceptor = tcp::acceptor{io, {asio::ip::address_v4::loopback(), 0}};
  asio::co_spawn(
      io, serve(acceptor, static_cast<unsigned short>(std::stoi(argv[1])), argc > 2 ? argv[2] : ""),
      asio::detached);
  auto input = asio::posix::stream_descriptor{io, ::dup(STDIN_FILENO)};
  auto byte = char{};
  input.async_read_some(asio::buffer(&byte, 1), [&](auto, auto) { io.stop(); });
  std::cout << acceptor.local_endpoint().port() << std::endl;
  io.run();
  return 0;
}

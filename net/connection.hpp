// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/url.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep {

namespace asio = boost::asio;
namespace beast = boost::beast;
using net_error = boost::system::error_code;

/// One TCP connection for HTTP, with or without TLS. Used on the I/O thread only, except by a
/// thread that has just taken it with host_connections::try_take_idle().
class connection {
public:
  using answer_parser = beast::http::response_parser<beast::http::buffer_body>;
  using endpoints = std::vector<asio::ip::tcp::endpoint>;

  /// Reserves a buffer for a small response, so that one system call reads its headers and body.
  /// @param unit_max maximum size of the headers, of a chunk header and of the trailers. Reading a
  /// larger one fails with buffer_overflow, because the parser needs it as a whole in the buffer
  explicit connection(asio::io_context& io, std::size_t unit_max = std::size_t{64} * 1024)
      : plain_{io}, buffer_{unit_max + large_piece} {
    buffer_.reserve(buffer_size);
  }

  /// Connects to the first endpoint that accepts. Each endpoint except the last gets only a part of
  /// the time until the deadline, so that one that does not answer leaves time for the others. The
  /// caller calls close() at the deadline.
  asio::awaitable<net_error> connect(endpoints where,
                                     std::chrono::steady_clock::time_point deadline);
  /// Opens a tunnel through a proxy. Returns an error, or the status code of the proxy's answer.
  /// @pre connect() to the proxy has succeeded
  asio::awaitable<std::pair<net_error, int>> tunnel(std::string host, std::uint16_t port,
                                                    std::string authorization);
  /// Performs the TLS handshake and, if `verify` is set, checks the host name in the certificate.
  /// @pre connect() or tunnel() has succeeded
  asio::awaitable<net_error> secure(asio::ssl::context& trusted, std::string host, bool verify);

  /// Returns why secure() has failed with this error, if it has rejected the certificate or if the
  /// server does not use TLS; else "".
  [[nodiscard]] std::string handshake_fault(const net_error& failed);

  /// Writes the headers and the body. Both must stay valid until the operation has ended.
  asio::awaitable<net_error> write(std::string_view head, std::string_view body,
                                   std::chrono::milliseconds timeout);
  /// Writes as many bytes as the system accepts at once, and returns their number; 0 for a TLS
  /// connection. An error is not reported here, but when the rest is written or the answer is read.
  [[nodiscard]] std::size_t write_at_once(std::string_view head, std::string_view body) noexcept;
  asio::awaitable<net_error> read_head(answer_parser& into, std::chrono::milliseconds timeout);
  /// Reads into the parser's body buffer; may return without any bytes.
  asio::awaitable<net_error> read_some(answer_parser& into, std::chrono::milliseconds timeout);

  /// Sets the number of bytes per system call; 8 KiB by default.
  /// @param bytes at most large_piece
  void expect_large_body(std::size_t bytes) { buffer_.reserve(bytes); }
  /// Frees large buffers before the connection becomes idle.
  /// @pre there are no unread bytes
  void release_memory();
  /// Closes the connection; pending operations end with an error.
  void close() noexcept;
  /// Whether an idle connection may be used again. It may not if the server has closed it or has
  /// sent unrequested bytes, which would be read as the answer to the next request.
  [[nodiscard]] bool is_usable() noexcept;
  [[nodiscard]] std::size_t unread_bytes() const noexcept { return buffer_.size(); }
  [[nodiscard]] bool has_unread_bytes() const noexcept { return unread_bytes() != 0; }

  /// maximum of expect_large_body()
  static constexpr auto large_piece = std::size_t{64} * 1024;

  /// The buffer for pieces of a body. It belongs to the connection, so that requests need not
  /// allocate it.
  std::array<char, 16 * 1024> piece;
  bool is_reused = false;
  std::chrono::steady_clock::time_point idle_since{};

private:
  /// requested size of the socket's buffer; the system doubles it
  static constexpr auto receive_buffer = 192 * 1024;
  static constexpr auto buffer_size = std::size_t{8} * 1024;
  /// maximum time for an endpoint that is not the last one
  static constexpr auto attempt_max = std::chrono::steady_clock::duration{std::chrono::seconds{2}};

  // With TLS, plain_ was moved into the TLS stream.
  [[nodiscard]] beast::tcp_stream& lowest() noexcept { return tls_ ? tls_->next_layer() : plain_; }

  beast::tcp_stream plain_;
  std::optional<beast::ssl_stream<beast::tcp_stream>> tls_;
  beast::flat_buffer buffer_;
  bool is_closed_ = false; // whether close() was called
};

} // namespace superstep

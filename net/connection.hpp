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

/// One TCP connection, with TLS or without, that speaks HTTP. I/O thread only, or that of whoever
/// has just taken it from the idle ones.
class connection {
public:
  using answer_parser = beast::http::response_parser<beast::http::buffer_body>;
  using endpoints = std::vector<asio::ip::tcp::endpoint>;

  /// Room for a small answer whole: head and body then come by one call of the system.
  explicit connection(asio::io_context& io) : plain_{io} { buffer_.reserve(buffer_size); }

  asio::awaitable<net_error> connect(endpoints where);
  /// After connect() to a proxy: asks it to pass everything on. The status of its answer.
  asio::awaitable<std::pair<net_error, int>> tunnel(std::string host, std::uint16_t port,
                                                    std::string authorization);
  /// After connect() or tunnel(), for https: handshake with a check of the certificate's host name.
  asio::awaitable<net_error> secure(asio::ssl::context& trusted, std::string host, bool verify);

  /// Both stay where they are until it is done.
  asio::awaitable<net_error> write(std::string_view head, std::string_view body,
                                   std::chrono::milliseconds patience);
  /// Writes what the system takes at once, without TLS only. How much that was: what is wrong with
  /// the connection shows when the rest is written or an answer read.
  [[nodiscard]] std::size_t write_at_once(std::string_view head, std::string_view body) noexcept;
  asio::awaitable<net_error> read_head(answer_parser& into, std::chrono::milliseconds patience);
  /// Reads into the parser's body buffer; may come back with nothing read.
  asio::awaitable<net_error> read_some(answer_parser& into, std::chrono::milliseconds patience);

  /// One call of the system then reads up to `bytes`; by default 8 KiB.
  void expect_large_body(std::size_t bytes) { buffer_.reserve(bytes); }
  /// An unused connection keeps no memory of a large body. @pre no unread bytes
  void release_memory();
  /// What is under way ends with an error.
  void close() noexcept;
  /// False when the other side has closed, or has sent bytes that no request asked for: they would
  /// be taken for the answer to the next request.
  [[nodiscard]] bool is_usable() noexcept;
  [[nodiscard]] std::size_t unread_bytes() const noexcept { return buffer_.size(); }
  [[nodiscard]] bool has_unread_bytes() const noexcept { return unread_bytes() != 0; }

  /// Room for what is read of a body: with the connection, so that a request need not get it.
  std::array<char, 16 * 1024> piece;
  bool is_reused = false;
  std::chrono::steady_clock::time_point idle_since{};

private:
  static constexpr auto receive_buffer = 192 * 1024; ///< of the system; it doubles it
  static constexpr auto buffer_size = std::size_t{8} * 1024;

  // The stream without TLS is moved into the one with it.
  [[nodiscard]] beast::tcp_stream& lowest() noexcept { return tls_ ? tls_->next_layer() : plain_; }

  beast::tcp_stream plain_;
  std::optional<beast::ssl_stream<beast::tcp_stream>> tls_;
  beast::flat_buffer buffer_;
};

} // namespace superstep

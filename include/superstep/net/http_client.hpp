// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/task.hpp>
#include <superstep/net/io_runtime.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep {

/// Header fields in the order of the message.
using http_headers = std::vector<std::pair<std::string, std::string>>;

/// Returns the first value of a field; nullptr if there is none. Names are compared without regard
/// to case (RFC 9110, section 5.1). Valid until the headers are changed.
[[nodiscard]] const std::string* find_header(const http_headers& headers,
                                             std::string_view name) noexcept;

/// Options of http_client::make().
struct http_client_options {
  std::size_t connections_per_host_max = 256; ///< further requests wait, in the order of arrival
  std::size_t hosts_max = 1'000; ///< hosts with open connections; requests to others are rejected
  /// Name look-up, connect and TLS handshake together; at least 1 ms.
  std::chrono::milliseconds connect_timeout{10'000};
  /// Maximum silence of the server during a request; at least 1 ms.
  std::chrono::milliseconds idle_timeout{60'000};
  /// The limit of a request, including its wait; at least 1 ms. Unset: no limit.
  std::optional<std::chrono::milliseconds> total_timeout{std::chrono::milliseconds{300'000}};
  std::chrono::milliseconds keep_alive{
      30'000};                              ///< maximum idle time of a connection that is reused
  std::size_t header_bytes_max = 64 * 1024; ///< of a response
  std::size_t response_bytes_max = 16 * 1024 * 1024; ///< of a body; more is errc::too_large
  bool tls_verify = true; ///< whether to check the certificate and the host name
  std::string ca_file;    ///< PEM file of trusted root certificates; empty: the system's
  std::string user_agent = "superstep";
  /// `http://[user:password@]host[:port]`, a proxy for all requests; empty: none. Unset: the proxy
  /// that http_proxy, https_proxy, all_proxy and no_proxy specify, and none for this machine
  /// itself.
  std::optional<std::string> proxy;
};

/// A request of an http_client.
struct http_request {
  /// A request of http_client.
  std::string method = "GET";
  std::string url;      ///< http or https; redirects are returned, not followed
  http_headers headers; ///< Host, User-Agent and Content-Length are added
  std::string body;
  std::optional<std::chrono::milliseconds> total_timeout{}; ///< unset: the client's
  std::optional<std::size_t> response_bytes_max{};          ///< unset: the client's
  /// Called on the I/O thread directly before the first byte is sent; false ends the request with
  /// errc::cancelled. For limits that may have closed while the connection was made. Must not
  /// block. May be empty.
  std::function<bool()> may_go_out{};
};

/// The response to a request: of any status.
struct http_response {
  /// A response of http_client, with any status.
  int status = 0;
  http_headers headers;
  std::string body; ///< empty in a streamed response, whose body http_stream::next() returns
};

/// A response whose body is read in pieces. Nothing is read ahead except a small body that arrived
/// with the headers, so a slow reader slows down the server.
///
/// Destroying it before the end of the body closes the connection. Move-only.
/// @par Threads
/// May be used by one coroutine at a time.
class http_stream {
public:
  class exchange; // used on the I/O thread

  http_stream() noexcept = default; ///< an empty object to assign to; next() must not be called
  /// For a response whose body is still arriving.
  http_stream(http_response head, std::shared_ptr<exchange> body) noexcept;
  /// For a response whose body arrived with its headers.
  http_stream(http_response head, std::string body) noexcept;
  http_stream(http_stream&&) noexcept = default;
  http_stream& operator=(http_stream&&) noexcept = default;

  /// Status and headers of the response.
  [[nodiscard]] const http_response& head() const noexcept { return head_; }
  /// Returns the next bytes (1 byte to 16 KiB), or nullopt at the end of the body. A connection
  /// that ends before the body is an error; after an error every call returns an error.
  [[nodiscard]] task<result<std::optional<std::string>>> next();
  /// Waits for the next `bytes` bytes (at least 1) or the rest of a shorter body; nullopt at the
  /// end. Efficient for large bodies: the I/O thread combines the pieces, without a thread change
  /// for each.
  [[nodiscard]] task<result<std::optional<std::string>>> next(std::size_t bytes);

private:
  http_response head_;
  std::shared_ptr<exchange> body_; // null: rest_ is all of it
  std::string rest_;
};

/// An HTTP/1.1 client (RFC 9112) with persistent connections, shared per host by all requests.
///
/// Requests accept gzip, and bodies are decompressed, unless the request sets Accept-Encoding
/// itself; size limits apply to the decompressed body. https through a proxy uses a tunnel.
///
/// Every status is a response and not an error. The errors are errc::invalid_argument (the
/// request), timed_out, too_large, cancelled, io_failed (name look-up, connection, TLS, protocol)
/// and shortage (the machine had no descriptors or memory for a connection until the request's
/// timeout). A request whose persistent connection was closed before the first byte of the response
/// is sent once more on a new connection. Destroying a waiting coroutine cancels its request.
///
/// @par Threads
/// send() and open() may be called by any thread. Waiting suspends the coroutine, which is resumed
/// in its own executor.
class http_client {
public:
  /// Creates a client.
  /// @param io must outlive the client, its tasks and its streams
  /// @return an error if the CA file cannot be read or the proxy is not a valid address
  [[nodiscard]] static result<http_client> make(io_runtime& io, http_client_options options);
  http_client(http_client&&) noexcept;
  http_client& operator=(http_client&&) noexcept;
  ~http_client();

  /// Sends a request and returns the complete response.
  [[nodiscard]] task<result<http_response>> send(http_request request) const;
  /// Sends a request and returns as soon as the headers have arrived, with a reader for the body.
  [[nodiscard]] task<result<http_stream>> open(http_request request) const;

  class impl;

private:
  explicit http_client(std::shared_ptr<impl> i) noexcept;
  std::shared_ptr<impl> impl_;
};

} // namespace superstep

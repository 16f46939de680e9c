// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/task.hpp>
#include <superstep/net/io_runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep {

/// Header fields in the order they stand on the wire.
using http_headers = std::vector<std::pair<std::string, std::string>>;

/// The first value of the field, whatever the case of its name; nullptr when there is none.
/// Valid as long as the headers are not changed.
[[nodiscard]] const std::string* find_header(const http_headers& headers,
                                             std::string_view name) noexcept;

struct http_client_options {
  std::size_t connections_per_host_max =
      256;                       ///< further requests wait in line, first come first served
  std::size_t hosts_max = 1'000; ///< hosts with open connections; more are refused
  std::uint32_t connect_timeout_ms = 10'000; ///< look-up, connect and TLS handshake together
  std::uint32_t idle_timeout_ms = 60'000;    ///< longest silence of the server while it is awaited
  std::uint32_t total_timeout_ms = 300'000; ///< of one request, its wait in line included; 0 = none
  std::uint32_t keep_alive_ms = 30'000; ///< an unused connection older than this is not used again
  std::size_t header_bytes_max = 64 * 1024;          ///< of an answer
  std::size_t response_bytes_max = 16 * 1024 * 1024; ///< body of an answer; more is errc::too_large
  bool tls_verify = true;                            ///< check certificate and host name
  std::string ca_file; ///< PEM with the trusted roots; empty: those of the system
  std::string user_agent = "superstep";
  /// `http://[user:password@]host[:port]` that all requests go through; empty: none. Unset: what
  /// http_proxy, https_proxy, all_proxy and no_proxy say, and nothing for this machine itself.
  std::optional<std::string> proxy;
};

/// A request of an http_client.
struct http_request {
  std::string method = "GET";
  std::string url;      ///< http or https; a redirect is answered to the caller, not followed
  http_headers headers; ///< Host, User-Agent and Content-Length are added
  std::string body;
  std::uint32_t total_timeout_ms = 0; ///< instead of the client's; 0 = the client's
  std::size_t response_bytes_max = 0; ///< instead of the client's; 0 = the client's
  /// Asked on the I/O thread right before the first byte goes out; false ends the request with
  /// errc::cancelled. For limits that may have closed while a connection was made. Must not block.
  std::function<bool()> may_go_out;
};

/// The response to a request: of any status.
struct http_response {
  int status = 0;
  http_headers headers;
  std::string body; ///< of a streamed answer: empty, read it with next()
};

/// An answer whose body is read piece by piece. Nothing is read ahead, but for a small body that
/// came along with the head: a slow reader slows the server.
///
/// Destroying it before its end closes the connection. Moved, not copied.
/// @par Threads
/// Used by one coroutine at a time.
class http_stream {
public:
  class exchange; // lives on the I/O thread

  http_stream() noexcept = default; ///< of nothing, to be assigned to; next() must not be called
  http_stream(http_response head, std::shared_ptr<exchange> body) noexcept;
  /// Of an answer whose body came along with its head.
  http_stream(http_response head, std::string body) noexcept;
  http_stream(http_stream&&) noexcept = default;
  http_stream& operator=(http_stream&&) noexcept = default;

  [[nodiscard]] const http_response& head() const noexcept { return head_; }
  /// The next bytes (never empty, at most 16 KiB), or nothing at the end of the body. A connection
  /// that ends before the body does is an error, and after an error every call gives one.
  [[nodiscard]] task<result<std::optional<std::string>>> next();
  /// Waits for the next `bytes` bytes (at least 1), or for what is left of a shorter body; nothing
  /// at the end. For large bodies: pieces are put together on the I/O thread, without one change of
  /// threads for each.
  [[nodiscard]] task<result<std::optional<std::string>>> next(std::size_t bytes);

private:
  http_response head_;
  std::shared_ptr<exchange> body_; // null: all of it is in rest_
  std::string rest_;
};

/// HTTP/1.1 over kept-alive connections, which all requests of the client share per host.
///
/// Bodies packed with gzip are asked for and unpacked, unless a request says itself what encoding
/// it takes; the bounds count what comes out. Through a proxy, https goes in a tunnel.
///
/// A status of any kind is a response, not an error. Errors: errc::invalid_argument (the request),
/// timed_out, too_large, cancelled, io_failed (look-up, connection, TLS, protocol), shortage (the
/// machine had no descriptor or memory for a connection in all of the request's time; until then the
/// request waits and tries again). A request that
/// finds its kept-alive connection closed before any byte of the answer came is sent once more on a
/// fresh one. A coroutine that goes away while it waits takes its request with it.
///
/// @par Threads
/// send() and open() from any thread; the caller resumes in its own home. All waiting is suspended.
class http_client {
public:
  /// Fails when the CA file cannot be read or the proxy is no usable address.
  [[nodiscard]] static result<http_client> make(io_runtime& io, http_client_options options);
  http_client(http_client&&) noexcept;
  http_client& operator=(http_client&&) noexcept;
  ~http_client();

  /// The whole answer.
  [[nodiscard]] task<result<http_response>> send(http_request request) const;
  /// The head of the answer as soon as it is there, and a reader for the body.
  [[nodiscard]] task<result<http_stream>> open(http_request request) const;

  class impl;

private:
  explicit http_client(std::shared_ptr<impl> i) noexcept;
  std::shared_ptr<impl> impl_;
};

} // namespace superstep

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

/// Returns the first value of a field; nullptr if there is none. The pointer is valid until the
/// headers are changed. May be called from any thread.
/// @param headers the fields to search
/// @param name name of the field, compared without regard to case (RFC 9110, section 5.1)
[[nodiscard]] const std::string* find_header(const http_headers& headers,
                                             std::string_view name) noexcept;

/// Options of http_client::make().
struct http_client_options {
  std::size_t connections_per_host_max = 256; ///< further requests wait, in the order of arrival
  std::size_t hosts_max = 1'000; ///< hosts with requests in flight; others are rejected
  /// Name look-up, connect and TLS handshake together; at least 1 ms. If the host has several
  /// addresses, the next one is tried after at most 2 s.
  std::chrono::milliseconds connect_timeout{10'000};
  /// Maximum silence of the server during a request; at least 1 ms.
  std::chrono::milliseconds idle_timeout{60'000};
  /// Maximum duration of a request, including its wait for a connection; at least 1 ms. Unset: no
  /// limit.
  std::optional<std::chrono::milliseconds> total_timeout{std::chrono::milliseconds{300'000}};
  std::chrono::milliseconds keep_alive{
      30'000}; ///< maximum idle time of a connection that is reused
  /// Maximum size of the headers of a response, and of a chunk header and the trailers of its body;
  /// larger ones are errc::too_large.
  std::size_t header_bytes_max = 64 * 1024;
  /// Maximum size of the body of a response; a larger body is errc::too_large.
  std::size_t response_bytes_max = 16 * 1024 * 1024;
  bool tls_verify = true; ///< whether to check the certificate and the host name
  std::string ca_file{};  ///< PEM file of trusted root certificates; empty: the system's
  /// The User-Agent field of requests that do not set it.
  std::string user_agent = "superstep";
  /// `http://[user:password@]host[:port]`, a proxy for all requests; empty: none. Unset: the proxy
  /// that http_proxy, https_proxy, all_proxy and no_proxy specify, and none for this machine
  /// itself. A variable that is not valid is an error of the requests that would use its proxy.
  std::optional<std::string> proxy{};
};

/// A request of an http_client.
struct http_request {
  std::string method = "GET"; ///< method, a token of RFC 9110
  std::string url{};          ///< http or https; redirects are returned, not followed
  /// Host and User-Agent are added if they are not set, and sent once. Content-Length is added.
  http_headers headers{};
  std::string body{};                                       ///< sent unchanged; empty: no body
  std::optional<std::chrono::milliseconds> total_timeout{}; ///< not set: the client's
  std::optional<std::size_t> response_bytes_max{};          ///< not set: the client's
  /// Called on the I/O thread directly before the first byte is sent. If it returns false, the
  /// request ends with errc::cancelled. For rate limits that may have changed while the connection
  /// was made. Must not block. May be empty.
  std::function<bool()> may_go_out{};
};

/// The response to a request, with any status.
struct http_response {
  int status = 0;       ///< HTTP status code, e.g. 404
  http_headers headers; ///< fields of the response
  std::string body;     ///< complete body; empty in http_stream::head()
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

  /// Makes an empty object to assign to, for which next() must not be called.
  http_stream() noexcept = default;
  /// Makes the reader of a body that is still arriving. Called by http_client::open().
  http_stream(http_response head, std::shared_ptr<exchange> body) noexcept;
  /// Makes the reader of a body that arrived with its headers. Called by http_client::open().
  http_stream(http_response head, std::string body) noexcept;
  /// Takes over the response. The source may then only be assigned to or destroyed.
  http_stream(http_stream&&) noexcept = default;
  /// Takes over the response. If this object has an incomplete body, its connection is closed.
  http_stream& operator=(http_stream&&) noexcept = default;

  /// Returns status and headers of the response. Valid as long as the object.
  [[nodiscard]] const http_response& head() const noexcept { return head_; }
  /// Waits for the next bytes of the body. The task keeps the connection, so the object need not
  /// outlive it; destroying the task ends the response.
  /// @return the bytes as they arrive, from 1 byte to 16 KiB;
  /// nullopt at the end of the body. Errors are those of http_client, and errc::io_failed for a
  /// connection that ends before the body. After an error every call returns an error
  [[nodiscard]] task<result<std::optional<std::string>>> next();
  /// Waits for a number of bytes. Efficient for large bodies: the I/O thread combines the pieces,
  /// which avoids a thread change for each of them.
  /// @param bytes number of bytes, at least 1
  /// @return that many bytes, or fewer if the body ends before; nullopt at the end. Errors as for
  /// next()
  [[nodiscard]] task<result<std::optional<std::string>>> next(std::size_t bytes);
  /// Reads and discards the rest of the body, so that the connection can be used again. If the body
  /// does not end in time, closes the connection. For a reader that recognises the end of its
  /// content before the end of the body. next() must not be called afterwards.
  /// @param longest maximum duration
  [[nodiscard]] task<void> finish(std::chrono::milliseconds longest);

private:
  http_response head_;
  std::shared_ptr<exchange> body_; // null if rest_ is the whole body
  std::string rest_;
};

/// An HTTP/1.1 client (RFC 9112) with persistent connections, shared per host by all requests.
///
/// Requests accept gzip, and bodies are decompressed, unless the request sets Accept-Encoding
/// itself; size limits apply to the decompressed body. https through a proxy uses a tunnel.
///
/// Every status is a response and not an error. The errors are errc::invalid_argument (the
/// request, or its proxy in the environment), timed_out, too_large, cancelled, io_failed (name
/// look-up, connection, TLS, protocol) and shortage (the machine had no descriptors or memory for a
/// connection until the request's timeout). A request whose persistent connection was closed before
/// the first byte of the response is sent once more on a new connection. Destroying a waiting
/// coroutine cancels its request.
///
/// @par Threads
/// send() and open() may be called by any thread. Waiting suspends the coroutine, which is resumed
/// in its own executor.
class http_client {
public:
  /// Creates a client. Reads the environment unless options.proxy is set, so it is not safe while
  /// another thread calls setenv().
  /// @param io must outlive the client, its tasks and its streams
  /// @param options see http_client_options
  /// @return the client; errc::io_failed if the CA file cannot be read, errc::invalid_argument if
  /// an option is out of range or options.proxy is not a valid address
  [[nodiscard]] static result<http_client> make(io_runtime& io, http_client_options options);
  /// Takes over the client. The source may then only be assigned to or destroyed.
  http_client(http_client&&) noexcept;
  /// Takes over the client. Requests of this object that are in flight continue.
  http_client& operator=(http_client&&) noexcept;
  /// Destroys the handle. Requests in flight continue.
  ~http_client();

  /// Sends a request and waits for the complete response. The client need not outlive the task.
  /// @return the response, with any status, or one of the errors listed above
  [[nodiscard]] task<result<http_response>> send(http_request request) const;
  /// Sends a request and waits for the headers of the response. The client need not outlive the
  /// task.
  /// @return a reader for the body, with any status, or one of the errors listed above
  [[nodiscard]] task<result<http_stream>> open(http_request request) const;

  class impl;

private:
  explicit http_client(std::shared_ptr<impl> i) noexcept;
  std::shared_ptr<impl> impl_;
};

} // namespace superstep

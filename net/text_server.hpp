// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/net/io_runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace superstep {

/// Options of text_server.
struct text_server_options {
  std::uint16_t port = 0;                   ///< TCP port; 0: any free port
  std::string path = "/metrics";            ///< the only path that exists
  std::string content_type = "text/plain";  ///< header Content-Type of the text
  std::size_t connections_max = 16;         ///< open connections; further ones are closed at once
  std::size_t request_bytes_max = 8 * 1024; ///< size of a request's head
};

/// A server that answers GET and HEAD requests for one path with a text, by HTTP/1.1 on 127.0.0.1.
/// Each connection serves one request, and has 5 seconds for it. Runs on the I/O thread.
/// @par Threads
/// All members may be called by any thread, but not by `content`.
class text_server {
public:
  /// Starts to listen.
  /// @param io must outlive the server
  /// @param content returns the text. Called by the I/O thread, not after the destructor has
  ///   returned. Must be short; if it throws, the request is answered with status 500
  /// @return the server, or the error of the system, for example that the port is in use
  [[nodiscard]] static result<text_server> start(io_runtime& io, text_server_options options,
                                                 std::function<std::string()> content);
  text_server(text_server&&) noexcept;
  text_server& operator=(text_server&&) noexcept;
  /// Stops listening. Open connections are closed.
  ~text_server();

  /// The port on which the server listens.
  [[nodiscard]] std::uint16_t port() const noexcept;

private:
  class impl;
  explicit text_server(std::shared_ptr<impl> core) noexcept;
  std::shared_ptr<impl> impl_;
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/address_lookups.hpp"
#include "net/connection_pool.hpp"
#include "net/gunzip.hpp"
#include "net/io_runtime_impl.hpp"
#include "net/proxy.hpp"

#include <superstep/base/await.hpp>
#include <superstep/net/http_client.hpp>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace superstep {

/// A deleter for objects that own sockets, timers or places in queues. It destroys them on the I/O
/// thread, whichever thread releases the last reference.
struct delete_on_io_thread {
  asio::io_context* io;
  template <class T>
  void operator()(T* last) const {
    asio::dispatch(*io, [owned = std::unique_ptr<T>{last}] {});
  }
};

/// The data that all exchanges of one client share. Created by any thread; used on the I/O thread.
class http_client::impl {
public:
  impl(io_runtime& io, http_client_options o, proxy_rules p)
      : options{std::move(o)}, proxies{std::move(p)}, context{io.get().io},
        pool{options.connections_per_host_max, options.hosts_max},
        lookups{std::make_shared<address_lookups>(context)} {}

  const http_client_options options;
  const proxy_rules proxies;
  asio::io_context& context;
  asio::ssl::context trusted{asio::ssl::context::tls_client};
  connection_pool pool;
  const std::shared_ptr<address_lookups> lookups;
};

/// One request and its response.
///
/// An exchange works in steps, each an Asio coroutine on the I/O thread: start() reads the headers
/// of the response, then each more() reads a piece of the body. stop() may be called while a step
/// is suspended. It reports the error to the waiting coroutine at once and closes the connection,
/// which ends the step with an error.
class http_stream::exchange : public std::enable_shared_from_this<exchange> {
public:
  using head_result = result<http_response>;
  using piece_result = result<std::optional<std::string>>;

  /// @param proxy a proxy of the client's rules; null if none is used
  exchange(std::shared_ptr<http_client::impl> client, http_request request, url where,
           const proxy_address* proxy);
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;
  ~exchange();

  // The functions below are called on the I/O thread, unless stated otherwise.
  asio::awaitable<head_result> start();
  /// Returns the next piece of the body; nullopt at the end of the body, when the connection has
  /// returned to the pool.
  asio::awaitable<piece_result> more();
  /// Returns the next `bytes` bytes of the body; fewer only at its end.
  asio::awaitable<piece_result> more_of(std::size_t bytes);
  /// Reads and discards the rest of the body for at most this time, then closes the connection.
  asio::awaitable<piece_result> drop_rest(std::chrono::milliseconds longest);
  /// Whether the whole body has arrived, is small and within the limit, so that more() will not
  /// have to wait.
  /// @pre start() has ended
  [[nodiscard]] bool has_whole_body() const;
  void stop(error why);

  /// Sends the request on the calling thread if an idle connection is available. The server then
  /// works on it while the I/O thread wakes up. Called by any thread, before the first run().
  void send_at_once();
  /// Runs `step(self)` on the I/O thread and completes `done` with its result, or with the reason
  /// of an earlier stop(). If the waiting coroutine is destroyed, the exchange is stopped. Called
  /// by any thread.
  template <class T, class Step>
  void run(completer<result<T>> done, Step step);

  [[nodiscard]] asio::io_context& context() const noexcept { return client_->context; }

private:
  asio::awaitable<std::optional<error>> prepare_connection(bool must_be_fresh);
  asio::awaitable<std::optional<error>> connect(bool must_be_fresh);
  asio::awaitable<net_error> write_rest(std::size_t sent);
  asio::awaitable<std::optional<error>> lease_connection();
  asio::awaitable<std::optional<error>> open_connection();
  asio::awaitable<std::optional<error>> try_open_connection();
  asio::awaitable<net_error> look_up(connection::endpoints& into);
  asio::awaitable<std::optional<error>> open_tunnel();
  asio::awaitable<net_error> read_answer_head();
  /// Reads some bytes of the body; returns 0 at its end.
  asio::awaitable<result<std::size_t>> read_body(std::span<char> room);
  [[nodiscard]] result<std::size_t> unpack(std::span<char> room);
  [[nodiscard]] head_result make_head();
  [[nodiscard]] std::string make_request_head();
  void finish_body();
  void give_back_connection();
  void start_timer(asio::steady_timer& timer, std::chrono::milliseconds after, std::string what);
  /// Returns the beginning of error texts: the method and the URL without its query, which may
  /// contain API keys.
  [[nodiscard]] std::string request_text() const;
  /// Returns the proxy for error texts, without its password. @pre a proxy is used
  [[nodiscard]] std::string proxy_text() const;
  [[nodiscard]] error explain(std::string_view doing, const net_error& failed) const;
  [[nodiscard]] std::chrono::milliseconds timeout() const noexcept;

  const std::shared_ptr<http_client::impl> client_;
  http_request request_;
  const url where_;
  const proxy_address* const proxy_; // owned by the client's rules; null if no proxy is used
  asio::steady_timer total_timer_;
  asio::steady_timer connect_timer_;
  asio::steady_timer lookup_alarm_; // cancelled when the addresses of the host are known
  host_connections::lease lease_;
  host_connections::waiter* waiter_ = nullptr; // a local variable of lease_connection(), or null
  std::unique_ptr<connection> connection_;
  std::string head_;     // the headers of the request as text
  std::size_t sent_ = 0; // number of bytes of headers and body that send_at_once() has sent
  std::optional<connection::answer_parser> parser_;
  bool may_be_packed_ = false; // whether this client has requested gzip, so that it must decompress
  std::optional<gunzip> unpack_;
  std::size_t body_bytes_ = 0;
  std::optional<error> shortage_; // the resource that open_connection() waits for, as an error
  std::optional<error> stopped_;
  bool is_finished_ = false;
  // reports an error to the coroutine that waits for the current step
  std::function<void(const error&)> on_stop_;
};

} // namespace superstep

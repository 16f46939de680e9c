// SPDX-License-Identifier: Apache-2.0
// Sends one HTTP request and reads its response, as Asio coroutines on the I/O thread; exchange.hpp
// describes the steps. http_client.cpp starts them.
#include "net/exchange.hpp"

#include "base/deadline.hpp"
#include "base/malloc_arenas.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

namespace http = beast::http;

namespace {

/// Maximum number of interim responses (1xx) per request; servers normally send one at most.
constexpr auto interim_answers_max = 8;

// spare bytes, because simdjson reads beyond the end of a text (padded_json.hpp)
constexpr auto parser_room = std::size_t{64};

constexpr auto shortage_wait_first = std::chrono::milliseconds{20};
constexpr auto shortage_wait_max = std::chrono::milliseconds{1'000};

/// Whether an error means that the server has closed the connection, for example because its
/// keep-alive time has passed.
bool is_closed(const net_error& failed) {
  return failed == http::error::end_of_stream || failed == asio::error::eof ||
         failed == asio::error::connection_reset || failed == asio::error::broken_pipe ||
         failed == asio::error::connection_aborted || failed == asio::ssl::error::stream_truncated;
}

/// Whether a header determines the length of the body. The client sets these headers itself,
/// because two different lengths would allow request smuggling (RFC 9112, section 11.2).
bool is_framing(std::string_view name) {
  return beast::iequals(name, "content-length") || beast::iequals(name, "transfer-encoding");
}

/// Whether a content coding is gzip; x-gzip is an older name (RFC 9110, section 8.4.1.3).
bool is_gzip(std::string_view coding) {
  return beast::iequals(coding, "gzip") || beast::iequals(coding, "x-gzip");
}

} // namespace

http_stream::exchange::exchange(std::shared_ptr<http_client::impl> client, http_request request,
                                url where, const proxy_address* proxy)
    : client_{std::move(client)}, request_{std::move(request)}, where_{std::move(where)},
      proxy_{proxy}, total_timer_{client_->context}, connect_timer_{client_->context},
      lookup_alarm_{client_->context} {
  if (!request_.response_bytes_max)
    request_.response_bytes_max = client_->options.response_bytes_max;
}

http_stream::exchange::~exchange() {
  if (on_stop_) // the I/O thread has ended while a step was running
    on_stop_(error{errc::cancelled, request_text() + ": cancelled because the io_runtime ended"});
}

void http_stream::exchange::stop(error why) {
  if (stopped_ || is_finished_)
    return;
  stopped_ = std::move(why);
  total_timer_.cancel();
  connect_timer_.cancel();
  lookup_alarm_.cancel();
  if (waiter_ != nullptr)
    waiter_->give_up();
  if (connection_)
    connection_->close();
  if (const auto tell = std::exchange(on_stop_, nullptr))
    tell(*stopped_);
}

std::chrono::milliseconds http_stream::exchange::timeout() const noexcept {
  return client_->options.idle_timeout;
}

std::string http_stream::exchange::request_text() const {
  return request_.method + (where_.is_tls ? " https://" : " http://") + where_.authority() +
         where_.target.substr(0, where_.target.find('?'));
}

std::string http_stream::exchange::proxy_text() const {
  auto address = url{};
  address.host = proxy_->host;
  address.port = proxy_->port;
  return "the proxy " + address.authority();
}

error http_stream::exchange::explain(std::string_view doing, const net_error& failed) const {
  if (stopped_)
    return *stopped_;
  if (failed == beast::error::timeout)
    return {errc::timed_out, request_text() + ": no data for " +
                                 std::to_string(client_->options.idle_timeout.count()) +
                                 " ms while " + std::string{doing}};
  if (failed == http::error::header_limit || failed == http::error::buffer_overflow)
    return {errc::too_large,
            request_text() +
                (parser_ && parser_->is_header_done() ? ": a chunk header or the trailers"
                                                      : ": the headers") +
                " of the answer are larger than " +
                std::to_string(client_->options.header_bytes_max) +
                " bytes; raise http_client_options::header_bytes_max"};
  const auto is_end = failed == http::error::end_of_stream ||
                      failed == http::error::partial_message || failed == asio::error::eof;
  const auto is_http =
      failed.category() == http::make_error_code(http::error::bad_value).category();
  const auto step = doing.empty() ? std::string{} : std::string{doing} + " failed: ";
  return {is_shortage(failed) ? errc::shortage : errc::io_failed,
          request_text() + ": " + step +
              (is_end    ? "the server closed the connection"
               : is_http ? "the answer is not valid HTTP/1.1 (" + failed.message() + ')'
                         : failed.message())};
}

void http_stream::exchange::start_timer(asio::steady_timer& timer, std::chrono::milliseconds after,
                                        std::string what) {
  timer.expires_at(detail::deadline_after(std::chrono::steady_clock::now(), after));
  timer.async_wait([weak = weak_from_this(), what = std::move(what), after](net_error cancelled) {
    const auto self = weak.lock();
    if (cancelled || !self)
      return;
    if (self->shortage_) {
      self->stop(*self->shortage_);
      return;
    }
    self->stop(error{errc::timed_out, self->request_text() + ": " + what + " within " +
                                          std::to_string(after.count()) + " ms"});
  });
}

asio::awaitable<http_stream::exchange::head_result> http_stream::exchange::start() {
  const auto& own = request_.total_timeout;
  if (const auto& total = own ? own : client_->options.total_timeout)
    start_timer(total_timer_, *total, "no complete answer");
  if (head_.empty())
    head_ = make_request_head();
  for (auto is_second = false;; is_second = true) {
    parser_.emplace();
    const auto sent = std::exchange(sent_, 0);
    if (sent == 0) {
      auto refused = co_await prepare_connection(is_second);
      if (refused)
        co_return std::move(*refused);
    }
    auto failed = co_await write_rest(sent);
    // A server may answer and close the connection before it has read the whole request, so reading
    // is tried even then.
    if (!failed || (is_closed(failed) && !stopped_))
      failed = co_await read_answer_head();
    if (!failed && !stopped_)
      co_return make_head();
    const auto is_stale = connection_->is_reused && is_closed(failed) && !parser_->got_some() &&
                          !connection_->has_unread_bytes();
    connection_.reset();
    if (stopped_ || is_second || !is_stale)
      co_return explain("waiting for the answer", failed);
  }
}

void http_stream::exchange::send_at_once() {
  const auto host = where_.is_tls ? nullptr : client_->pool.find(where_);
  if (!host || (request_.may_go_out && !request_.may_go_out()))
    return;
  auto ready = host->try_take_idle(client_->options.keep_alive);
  if (!ready)
    return;
  connection_ = std::move(ready);
  lease_ = host_connections::lease{host};
  head_ = make_request_head();
  sent_ = connection_->write_at_once(head_, request_.body);
}

/// Provides a connection for the request, then checks whether the request may still be sent
/// (http_request::may_go_out).
asio::awaitable<std::optional<error>>
http_stream::exchange::prepare_connection(bool must_be_fresh) {
  if (!connection_)
    if (auto refused = co_await connect(must_be_fresh))
      co_return refused;
  if (!request_.may_go_out || request_.may_go_out())
    co_return std::nullopt;
  give_back_connection();
  co_return error{
      errc::cancelled,
      request_text() +
          ": the request was not sent, because http_request::may_go_out returned false"};
}

asio::awaitable<net_error> http_stream::exchange::write_rest(std::size_t sent) {
  const auto of_head = std::min(sent, head_.size());
  const auto of_body = sent - of_head;
  if (of_body == request_.body.size() && of_head == head_.size())
    co_return net_error{};
  co_return co_await connection_->write(std::string_view{head_}.substr(of_head),
                                        std::string_view{request_.body}.substr(of_body), timeout());
}

asio::awaitable<std::optional<error>> http_stream::exchange::connect(bool must_be_fresh) {
  if (!must_be_fresh) {
    auto refused = co_await lease_connection();
    if (refused)
      co_return refused;
    const auto keep_alive = client_->options.keep_alive;
    connection_ = lease_.host().take_idle(keep_alive);
    if (connection_)
      co_return std::nullopt;
  }
  co_return co_await open_connection();
}

asio::awaitable<std::optional<error>> http_stream::exchange::lease_connection() {
  const auto host = client_->pool.host(where_);
  if (!host)
    co_return error{errc::too_large,
                    request_text() + ": requests to " + std::to_string(client_->options.hosts_max) +
                        " other hosts are in flight; raise http_client_options::hosts_max"};
  if (!host->try_take()) {
    auto place = host_connections::waiter{client_->context, host};
    waiter_ = &place;
    const auto is_granted = co_await place.wait();
    waiter_ = nullptr;
    if (!is_granted)
      co_return explain("waiting for a connection", asio::error::operation_aborted);
  }
  lease_ = host_connections::lease{host};
  if (stopped_)
    co_return *stopped_;
  co_return std::nullopt;
}

asio::awaitable<net_error> http_stream::exchange::look_up(connection::endpoints& into) {
  auto failed = net_error{};
  const auto& host = proxy_ != nullptr ? proxy_->host : where_.host;
  const auto port = proxy_ != nullptr ? proxy_->port : where_.port;
  const auto address = asio::ip::make_address(host, failed);
  if (!failed) {
    into.emplace_back(address, port);
    co_return failed;
  }
  co_return co_await client_->lookups->find(host, port, lookup_alarm_, into);
}

/// Opens a connection. If the machine lacks descriptors, memory or buffers, waits and tries again,
/// which is safe because nothing was sent yet. Only stop() or the total timeout ends the wait.
asio::awaitable<std::optional<error>> http_stream::exchange::open_connection() {
  for (auto wait = shortage_wait_first;; wait = std::min(2 * wait, shortage_wait_max)) {
    auto refused = co_await try_open_connection();
    if (stopped_)
      co_return *stopped_;
    if (!refused || refused->code != errc::shortage) {
      shortage_.reset();
      co_return refused;
    }
    shortage_ = std::move(refused);
    connection_.reset();
    client_->pool.close_idle();
    connect_timer_.expires_after(wait);
    auto cancelled = net_error{};
    co_await connect_timer_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    if (stopped_)
      co_return *stopped_;
  }
}

asio::awaitable<std::optional<error>> http_stream::exchange::try_open_connection() {
  start_timer(connect_timer_, client_->options.connect_timeout,
              proxy_ != nullptr ? "no connection through " + proxy_text() : "no connection");
  auto endpoints = connection::endpoints{};
  auto failed = co_await look_up(endpoints);
  if (failed || stopped_)
    co_return explain(proxy_ != nullptr ? "looking up " + proxy_text() : "looking up the host",
                      failed);
  connection_ = std::make_unique<connection>(client_->context, client_->options.header_bytes_max);
  failed = co_await connection_->connect(std::move(endpoints), connect_timer_.expiry());
  if (failed || stopped_)
    co_return explain(proxy_ != nullptr ? "connecting to " + proxy_text() : "", failed);
  if (where_.is_tls && proxy_ != nullptr) {
    auto refused = co_await open_tunnel();
    if (refused)
      co_return refused;
  }
  if (where_.is_tls) {
    failed =
        co_await connection_->secure(client_->trusted, where_.host, client_->options.tls_verify);
    if (failed || stopped_) {
      auto refused = explain("the TLS handshake", failed);
      if (const auto fault = connection_->handshake_fault(failed); !stopped_ && !fault.empty())
        refused.text += ": " + fault;
      co_return refused;
    }
  }
  connect_timer_.cancel();
  co_return std::nullopt;
}

asio::awaitable<std::optional<error>> http_stream::exchange::open_tunnel() {
  const auto [failed, status] =
      co_await connection_->tunnel(where_.host, where_.port, proxy_->authorization);
  if (failed || stopped_)
    co_return explain("opening a tunnel through " + proxy_text(), failed);
  if (status / 100 != 2)
    co_return error{errc::io_failed, request_text() + ": " + proxy_text() +
                                         " rejected the tunnel with status " +
                                         std::to_string(status)};
  co_return std::nullopt;
}

asio::awaitable<net_error> http_stream::exchange::read_answer_head() {
  auto failed = net_error{};
  for (auto i = 0; i < interim_answers_max; ++i) {
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(client_->options.header_bytes_max));
    // read_body() enforces the limit, which may differ per request
    parser_->body_limit(boost::none);
    parser_->skip(request_.method == "HEAD");
    failed = co_await connection_->read_head(*parser_, timeout());
    if (failed || parser_->get().result_int() >= 200)
      break;
  }
  co_return failed;
}

http_stream::exchange::head_result http_stream::exchange::make_head() {
  auto head = http_response{};
  head.status = static_cast<int>(parser_->get().result_int());
  if (head.status < 200)
    return error{errc::io_failed, request_text() + ": the server sends only interim "
                                                   "responses (status 1xx)"};
  for (const auto& field : parser_->get())
    head.headers.emplace_back(std::string{field.name_string()}, std::string{field.value()});
  if (may_be_packed_ && is_gzip(parser_->get()[http::field::content_encoding]))
    unpack_.emplace();
  return head;
}

/// Returns the request's headers as text. Beast's message type is not used, because it would cost
/// as much as the rest of a request.
std::string http_stream::exchange::make_request_head() {
  const auto is_proxied = proxy_ != nullptr && !where_.is_tls;
  auto out = std::string{};
  out.reserve(512);
  const auto add = [&out](std::string_view name, std::string_view value) {
    out.append(name).append(": ").append(value).append("\r\n");
  };
  out.append(request_.method).append(1, ' ');
  if (is_proxied)
    out.append("http://").append(where_.authority());
  out.append(where_.target).append(" HTTP/1.1\r\n");
  // Host and User-Agent are sent once: a server may reject two Host lines (RFC 9112, section 3.2).
  const auto* host = find_header(request_.headers, "host");
  add("Host", host != nullptr ? *host : where_.authority());
  if (is_proxied && !proxy_->authorization.empty())
    add("Proxy-Authorization", proxy_->authorization);
  may_be_packed_ = find_header(request_.headers, "accept-encoding") == nullptr;
  if (may_be_packed_)
    add("Accept-Encoding", "gzip");
  const auto* agent = find_header(request_.headers, "user-agent");
  add("User-Agent", agent != nullptr ? *agent : client_->options.user_agent);
  for (const auto& [name, value] : request_.headers)
    if (!is_framing(name) && !beast::iequals(name, "host") && !beast::iequals(name, "user-agent"))
      add(name, value);
  if (!request_.body.empty() || request_.method == "POST" || request_.method == "PUT")
    add("Content-Length", std::to_string(request_.body.size()));
  return out.append("\r\n");
}

result<std::size_t> http_stream::exchange::unpack(std::span<char> room) {
  auto got = unpack_->read(room.data(), room.size());
  if (!got)
    return error{errc::io_failed, request_text() + ": " + got.error().text};
  if (*got == 0 && parser_->is_done() && unpack_->is_cut())
    return error{errc::io_failed, request_text() + ": the gzip body is truncated"};
  return got;
}

asio::awaitable<http_stream::exchange::piece_result> http_stream::exchange::more() {
  // without a connection only the end of the body or an error is returned
  auto room = connection_ ? std::span<char>{connection_->piece} : std::span<char>{};
  auto got = co_await read_body(room);
  if (!got)
    co_return got.error();
  if (*got == 0)
    co_return std::optional<std::string>{};
  co_return std::optional<std::string>{std::in_place, room.data(), *got};
}

asio::awaitable<http_stream::exchange::piece_result>
http_stream::exchange::more_of(std::size_t bytes) {
  const auto left = parser_->content_length_remaining(); // number of bytes before decompression
  const auto expected = left && !unpack_ ? std::min<std::uint64_t>(bytes, *left) : bytes;
  const auto size =
      std::clamp(static_cast<std::size_t>(expected), std::size_t{1}, connection::large_piece);
  const auto memory = std::make_unique_for_overwrite<char[]>(size);
  auto out = std::string{};
  out.reserve((left && !unpack_ ? static_cast<std::size_t>(expected) : size) + parser_room);
  prefer_huge_pages(out.data(), out.capacity());
  if (connection_)
    connection_->expect_large_body(size);
  while (out.size() < bytes) {
    auto room = std::span<char>{memory.get(), std::min(size, bytes - out.size())};
    auto got = co_await read_body(room);
    if (!got)
      co_return got.error();
    if (*got == 0)
      break;
    out.append(room.data(), *got);
  }
  if (out.empty())
    co_return std::optional<std::string>{};
  co_return std::optional<std::string>{std::move(out)};
}

asio::awaitable<http_stream::exchange::piece_result>
http_stream::exchange::drop_rest(std::chrono::milliseconds longest) {
  auto room = connection_ ? std::span<char>{connection_->piece} : std::span<char>{};
  start_timer(connect_timer_, longest, "no end of the answer"); // the connection is established
  auto got = result<std::size_t>{std::size_t{1}};
  while (got && *got > 0)
    got = co_await read_body(room);
  connect_timer_.cancel();
  if (!got)
    co_return got.error();
  co_return std::optional<std::string>{};
}

asio::awaitable<result<std::size_t>> http_stream::exchange::read_body(std::span<char> room) {
  while (!stopped_ && !is_finished_) {
    auto got = unpack_ ? unpack(room) : result<std::size_t>{std::size_t{0}};
    if (!got) {
      stop(std::move(got).error());
      break;
    }
    if (*got == 0 && parser_->is_done()) {
      finish_body();
      break;
    }
    if (*got == 0) {
      auto& body = parser_->get().body();
      body.data = room.data();
      body.size = room.size();
      const auto failed = co_await connection_->read_some(*parser_, timeout());
      if (failed || stopped_) {
        stop(explain("reading the answer", failed));
        break;
      }
      got = room.size() - body.size;
      if (unpack_) {
        unpack_->feed({room.data(), *got});
        continue;
      }
    }
    body_bytes_ += *got;
    if (body_bytes_ > *request_.response_bytes_max) {
      stop(error{errc::too_large, request_text() + ": the answer is larger than " +
                                      std::to_string(*request_.response_bytes_max) + " bytes"});
      break;
    }
    if (*got > 0)
      co_return *got;
  }
  if (stopped_) {
    connection_.reset();
    lease_.end();
    co_return *stopped_;
  }
  co_return std::size_t{0};
}

bool http_stream::exchange::has_whole_body() const {
  if (unpack_) // the decompressed size is not known
    return false;
  const auto left = parser_->content_length_remaining();
  const auto here = std::min(connection_->unread_bytes(), connection_->piece.size());
  return parser_->is_done() || (left && *left <= here && *left <= *request_.response_bytes_max);
}

void http_stream::exchange::finish_body() {
  is_finished_ = true;
  total_timer_.cancel();
  if (parser_->get().keep_alive() && !connection_->has_unread_bytes())
    give_back_connection();
  connection_.reset();
  lease_.end();
}

void http_stream::exchange::give_back_connection() {
  connection_->release_memory();
  lease_.host().put_idle(std::move(connection_), client_->options.keep_alive);
  lease_.end();
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// The public interface of the HTTP client: checks requests, and connects the coroutines of any
// thread with exchanges on the I/O thread (exchange.cpp).
#include "net/exchange.hpp"

#include <superstep/net/http_client.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/beast/core/string.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace superstep {

namespace {

using exchange_ptr = std::shared_ptr<http_stream::exchange>;

/// Whether a text is a "token" of RFC 9110; methods and header names must be tokens.
bool is_token(std::string_view text) noexcept {
  constexpr auto marks = std::string_view{"!#$%&'*+-.^_`|~"};
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           marks.find(c) != std::string_view::npos;
  });
}

/// Whether a text is a valid header value. A line break in it would inject another header.
bool is_field_value(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' ? c != 0x7f : c == '\t';
  });
}

std::optional<error> find_fault(const http_request& request) {
  if (request.total_timeout && request.total_timeout->count() <= 0)
    return error{errc::invalid_argument, "http_request::total_timeout must be at least 1 ms"};
  if (!is_token(request.method))
    return error{errc::invalid_argument, "\"" + request.method + "\" is not a valid HTTP method"};
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name))
      return error{errc::invalid_argument, "\"" + name + "\" is not a valid HTTP header name"};
    if (!is_field_value(value)) // the value is not part of the text, because it may be a key
      return error{errc::invalid_argument,
                   "the value of header " + name + " contains a line break or control character"};
  }
  return std::nullopt;
}

/// Checks the request and creates its exchange.
result<exchange_ptr> make_exchange(const std::shared_ptr<http_client::impl>& client,
                                   http_request request) {
  if (auto fault = find_fault(request))
    return std::move(*fault);
  auto where = parse_url(request.url);
  if (!where)
    return where.error();
  const auto proxy = client->proxies.find(*where);
  if (!proxy)
    return proxy.error();
  auto fresh = std::make_unique<http_stream::exchange>(client, std::move(request),
                                                       std::move(*where), *proxy);
  return exchange_ptr{fresh.release(), delete_on_io_thread{&client->context}};
}

asio::awaitable<result<http_response>> whole_answer(exchange_ptr with) {
  auto answer = co_await with->start();
  while (answer) {
    auto piece = co_await with->more();
    if (!piece)
      co_return piece.error();
    if (!*piece)
      break;
    answer->body += **piece;
  }
  co_return answer;
}

asio::awaitable<result<http_stream>> head_of_answer(exchange_ptr with) {
  auto head = co_await with->start();
  if (!head)
    co_return head.error();
  if (!with->has_whole_body())
    co_return http_stream{std::move(*head), std::move(with)};
  // A body that has already arrived is read here, so that the caller need not wait for the I/O
  // thread again.
  auto body = std::string{};
  for (;;) {
    auto piece = co_await with->more();
    if (!piece) // the caller's next() reports the error
      co_return http_stream{std::move(*head), std::move(with)};
    if (!*piece)
      break;
    body += **piece;
  }
  co_return http_stream{std::move(*head), std::move(body)};
}

asio::awaitable<http_stream::exchange::piece_result> piece_of_answer(exchange_ptr with) {
  co_return co_await with->more();
}

asio::awaitable<http_stream::exchange::piece_result> pieces_of_answer(exchange_ptr with,
                                                                      std::size_t bytes) {
  co_return co_await with->more_of(bytes);
}

asio::awaitable<http_stream::exchange::piece_result>
rest_of_answer(exchange_ptr with, std::chrono::milliseconds longest) {
  co_return co_await with->drop_rest(longest);
}

// These coroutines take parameters and have no captures, because they outlive the calls that start
// them. While suspended they own neither client nor exchange. The reason is that an io_runtime may
// end first: it completes the wait, and the frame may be destroyed later.
task<result<http_response>> send_with(std::shared_ptr<http_client::impl> client,
                                      http_request request) {
  auto with = make_exchange(client, std::move(request));
  client.reset();
  if (!with)
    co_return with.error();
  auto wait = await_callback<result<http_response>>(
      [with = std::move(*with)](completer<result<http_response>> done) {
        with->send_at_once();
        with->run(std::move(done), &whole_answer);
      });
  co_return co_await wait;
}

task<result<http_stream>> open_with(std::shared_ptr<http_client::impl> client,
                                    http_request request) {
  auto with = make_exchange(client, std::move(request));
  client.reset();
  if (!with)
    co_return with.error();
  auto wait = await_callback<result<http_stream>>(
      [with = std::move(*with)](completer<result<http_stream>> done) {
        with->send_at_once();
        with->run(std::move(done), &head_of_answer);
      });
  co_return co_await wait;
}

task<http_stream::exchange::piece_result> at_once(std::string rest) {
  if (rest.empty())
    co_return std::optional<std::string>{};
  co_return std::optional<std::string>{std::move(rest)};
}

/// Runs a step of an exchange that reads its body.
/// @param step a function that takes the exchange and returns an awaitable
template <class Step>
task<http_stream::exchange::piece_result> next_of(exchange_ptr with, Step step) {
  auto wait = await_callback<http_stream::exchange::piece_result>(
      [with, step](completer<http_stream::exchange::piece_result> done) {
        with->run(std::move(done), step);
      });
  co_return co_await wait;
}

task<void> drop_rest_of(exchange_ptr with, std::chrono::milliseconds longest) {
  auto dropping = next_of(std::move(with), [longest](exchange_ptr self) {
    return rest_of_answer(std::move(self), longest);
  });
  co_await dropping; // an error at the end of the connection does not matter
}

task<void> nothing() {
  co_return;
}

} // namespace

template <class T, class Step>
void http_stream::exchange::run(completer<result<T>> done, Step step) {
  done.on_abandon([weak = weak_from_this(), &io = context()] {
    asio::post(io, [weak] {
      if (const auto self = weak.lock())
        self->stop(error{errc::cancelled, "the caller stopped waiting for the answer"});
    });
  });
  asio::post(context(), [self = shared_from_this(), done = std::move(done), step] {
    if (done.abandoned()) {
      self->stop(error{errc::cancelled, "the caller stopped waiting for the answer"});
      return;
    }
    self->on_stop_ = [done](const error& why) { done(why); };
    asio::co_spawn(self->context(), step(self),
                   [self, done](const std::exception_ptr& thrown, result<T> answer) {
                     if (thrown)
                       // steps return errors and never throw, so this is a bug
                       std::rethrow_exception(thrown);
                     self->on_stop_ = nullptr;
                     done(std::move(answer));
                   });
  });
}

const std::string* find_header(const http_headers& headers, std::string_view name) noexcept {
  for (const auto& [field, value] : headers)
    if (boost::beast::iequals(field, name))
      return &value;
  return nullptr;
}

http_stream::http_stream(http_response head, std::shared_ptr<exchange> body) noexcept
    : head_{std::move(head)}, body_{std::move(body)} {}

http_stream::http_stream(http_response head, std::string body) noexcept
    : head_{std::move(head)}, rest_{std::move(body)} {}

task<result<std::optional<std::string>>> http_stream::next() {
  return body_ ? next_of(body_, &piece_of_answer) : at_once(std::exchange(rest_, {}));
}

task<result<std::optional<std::string>>> http_stream::next(std::size_t bytes) {
  if (body_)
    return next_of(body_,
                   [bytes](exchange_ptr self) { return pieces_of_answer(std::move(self), bytes); });
  auto out = rest_.substr(0, bytes);
  rest_.erase(0, out.size());
  return at_once(std::move(out));
}

task<void> http_stream::finish(std::chrono::milliseconds longest) {
  rest_.clear();
  return body_ ? drop_rest_of(body_, longest) : nothing();
}

result<http_client> http_client::make(io_runtime& io, http_client_options options) {
  for (const auto& timeout : {std::optional{options.connect_timeout},
                              std::optional{options.idle_timeout}, options.total_timeout})
    if (timeout && timeout->count() <= 0)
      return error{errc::invalid_argument,
                   "connect_timeout, idle_timeout and total_timeout must be at least 1 ms"};
  if (options.connections_per_host_max == 0 || options.hosts_max == 0)
    return error{errc::invalid_argument,
                 "connections_per_host_max and hosts_max must be at least 1"};
  if (options.header_bytes_max == 0 || options.header_bytes_max > UINT32_MAX)
    return error{errc::invalid_argument, "header_bytes_max must be from 1 to 4294967295"};
  const auto variable = [](const char* name) {
    const auto* value = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
    return std::string{value != nullptr ? value : ""};
  };
  auto proxies = options.proxy ? proxy_rules::for_all(*options.proxy)
                               : result<proxy_rules>{proxy_rules::from(variable)};
  if (!proxies)
    return std::move(proxies).error();
  auto fresh = std::make_unique<impl>(io, std::move(options), *std::move(proxies));
  auto made = std::shared_ptr<impl>{fresh.release(), delete_on_io_thread{&io.get().io}};
  auto failed = net_error{};
  const auto& ca = made->options.ca_file;
  made->trusted.set_verify_mode(made->options.tls_verify ? asio::ssl::verify_peer
                                                         : asio::ssl::verify_none);
  if (ca.empty())
    made->trusted.set_default_verify_paths(failed);
  else
    made->trusted.load_verify_file(ca, failed);
  if (failed)
    return error{errc::io_failed, "cannot read trusted certificates from " +
                                      (ca.empty() ? "the system" : ca) + ": " + failed.message()};
  return http_client{std::move(made)};
}

http_client::http_client(std::shared_ptr<impl> i) noexcept : impl_{std::move(i)} {}
http_client::http_client(http_client&&) noexcept = default;

http_client& http_client::operator=(http_client&&) noexcept = default;
http_client::~http_client() = default;

task<result<http_response>> http_client::send(http_request request) const {
  return send_with(impl_, std::move(request));
}

task<result<http_stream>> http_client::open(http_request request) const {
  return open_with(impl_, std::move(request));
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// A small HTTP server on loopback that returns one text, for metrics.
#include "net/text_server.hpp"

#include "net/io_runtime_impl.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace superstep {

namespace {

using tcp = asio::ip::tcp;
using socket_error = boost::system::error_code;

constexpr auto request_time = std::chrono::seconds{5};
/// Pause after accept() failed, for example because no descriptor is left.
constexpr auto accept_pause = std::chrono::milliseconds{100};

/// One connection. Its handlers share its ownership.
struct text_connection {
  explicit text_connection(tcp::socket s) : socket{std::move(s)}, timer{socket.get_executor()} {}

  tcp::socket socket;
  asio::steady_timer timer;
  std::string request;
  std::string response;
};

/// The first line of a request.
struct request_line {
  std::string_view method;
  std::string_view path;
};

std::optional<request_line> read_request_line(std::string_view head) {
  const auto line = head.substr(0, head.find("\r\n"));
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == std::string_view::npos || last <= first ||
      !line.substr(last + 1).starts_with("HTTP/1."))
    return std::nullopt;
  auto path = line.substr(first + 1, last - first - 1);
  return request_line{line.substr(0, first), path.substr(0, path.find('?'))};
}

std::string response_of(std::string_view status, std::string_view type, std::string_view body,
                        bool has_body = true) {
  auto out = std::string{"HTTP/1.1 "};
  out.append(status).append("\r\nContent-Type: ").append(type);
  out.append("\r\nContent-Length: ").append(std::to_string(body.size()));
  out.append("\r\nConnection: close\r\n\r\n");
  if (has_body)
    out.append(body);
  return out;
}

} // namespace

class text_server::impl : public std::enable_shared_from_this<impl> {
public:
  impl(asio::io_context& io, text_server_options options, std::function<std::string()> content)
      : options_{std::move(options)}, content_{std::move(content)}, acceptor_{io}, pause_{io} {}

  result<void> listen() {
    auto failed = socket_error{};
    const auto where = tcp::endpoint{asio::ip::address_v4::loopback(), options_.port};
    acceptor_.open(where.protocol(), failed);
    if (!failed)
      acceptor_.set_option(tcp::acceptor::reuse_address{true}, failed);
    if (!failed)
      acceptor_.bind(where, failed);
    if (!failed)
      acceptor_.listen(asio::socket_base::max_listen_connections, failed);
    if (failed)
      return error{std::error_code{failed},
                   "cannot listen on 127.0.0.1:" + std::to_string(options_.port) + ": " +
                       failed.message()};
    port_ = acceptor_.local_endpoint().port();
    asio::post(acceptor_.get_executor(), [self = shared_from_this()] { self->accept(); });
    return {};
  }

  void stop() {
    {
      const auto lock = std::scoped_lock{mutex_};
      content_ = nullptr;
    }
    asio::post(acceptor_.get_executor(), [self = shared_from_this()] {
      auto ignored = socket_error{};
      self->is_stopped_ = true;
      self->acceptor_.close(ignored);
      self->pause_.cancel();
      for (const auto& open : self->open_)
        open->socket.close(ignored);
    });
  }

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

private:
  using connection_ptr = std::shared_ptr<text_connection>;

  void accept() {
    if (is_stopped_)
      return;
    acceptor_.async_accept([self = shared_from_this()](socket_error failed, tcp::socket socket) {
      if (self->is_stopped_)
        return;
      if (failed)
        return self->accept_later();
      if (self->open_.size() < self->options_.connections_max)
        self->serve(std::make_shared<text_connection>(std::move(socket)));
      self->accept();
    });
  }

  void accept_later() {
    pause_.expires_after(accept_pause);
    pause_.async_wait([self = shared_from_this()](socket_error failed) {
      if (!failed)
        self->accept();
    });
  }

  void serve(const connection_ptr& one) {
    open_.insert(one);
    one->timer.expires_after(request_time);
    one->timer.async_wait([self = shared_from_this(), one](socket_error failed) {
      if (!failed)
        self->end(one);
    });
    asio::async_read_until(one->socket,
                           asio::dynamic_buffer(one->request, options_.request_bytes_max),
                           "\r\n\r\n", [self = shared_from_this(), one](socket_error failed, auto) {
                             failed ? self->end(one) : self->answer(one);
                           });
  }

  void answer(const connection_ptr& one) {
    one->response = response_to(one->request);
    asio::async_write(one->socket, asio::buffer(one->response),
                      [self = shared_from_this(), one](socket_error, auto) {
                        auto ignored = socket_error{};
                        one->socket.shutdown(tcp::socket::shutdown_both, ignored);
                        self->end(one);
                      });
  }

  void end(const connection_ptr& one) {
    auto ignored = socket_error{};
    one->timer.cancel();
    one->socket.close(ignored);
    open_.erase(one);
  }

  std::string response_to(const std::string& head) {
    constexpr auto plain = std::string_view{"text/plain"};
    const auto asked = read_request_line(head);
    if (!asked)
      return response_of("400 Bad Request", plain, "not an HTTP/1.1 request\n");
    if (asked->method != "GET" && asked->method != "HEAD")
      return response_of("405 Method Not Allowed", plain, "use GET\n");
    if (asked->path != options_.path)
      return response_of("404 Not Found", plain, "the only path is " + options_.path + '\n');
    try {
      const auto lock = std::scoped_lock{mutex_};
      return response_of("200 OK", options_.content_type, content_ ? content_() : std::string{},
                         asked->method == "GET");
    } catch (const std::exception&) {
      return response_of("500 Internal Server Error", plain, "the text cannot be made\n");
    }
  }

  const text_server_options options_;
  std::mutex mutex_; ///< held while content_ runs, so that stop() waits for its end
  std::function<std::string()> content_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::set<connection_ptr> open_;
  std::uint16_t port_ = 0;
  bool is_stopped_ = false; ///< only for the I/O thread
};

result<text_server> text_server::start(io_runtime& io, text_server_options options,
                                       std::function<std::string()> content) {
  auto core = std::make_shared<impl>(io.get().io, std::move(options), std::move(content));
  if (auto listening = core->listen(); !listening)
    return listening.error();
  return text_server{std::move(core)};
}

text_server::text_server(std::shared_ptr<impl> core) noexcept : impl_{std::move(core)} {}
text_server::text_server(text_server&&) noexcept = default;

text_server& text_server::operator=(text_server&& other) noexcept {
  if (this != &other) {
    if (impl_)
      impl_->stop();
    impl_ = std::move(other.impl_);
  }
  return *this;
}

text_server::~text_server() {
  if (impl_)
    impl_->stop();
}

std::uint16_t text_server::port() const noexcept {
  return impl_->port();
}

} // namespace superstep

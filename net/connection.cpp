// SPDX-License-Identifier: Apache-2.0
// One HTTP connection with Asio, Beast and OpenSSL: connect, proxy tunnel, TLS handshake, reading
// and writing. exchange.cpp sends requests on it; connection_pool.cpp keeps idle connections.
#include "net/connection.hpp"

#include <superstep/base/error.hpp>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/socket.h>

namespace superstep {

namespace http = beast::http;

asio::awaitable<net_error> connection::connect(endpoints where,
                                               std::chrono::steady_clock::time_point deadline) {
  auto failed = net_error{asio::error::host_not_found};
  auto& socket = plain_.socket();
  // The endpoints are tried here and not by Asio's range connect, which reports a socket that
  // cannot be opened as cancelled.
  for (auto left = where.size(); left > 0; --left) {
    const auto& endpoint = where[where.size() - left];
    auto ignored = net_error{};
    socket.close(ignored);
    socket.open(endpoint.protocol(), failed);
    if (is_shortage(failed))
      break;
    if (failed)
      continue;
    // The size is set before connecting, because the TCP window depends on it. Otherwise the system
    // lets the buffer grow to several megabytes, which unread answers would fill.
    socket.set_option(asio::socket_base::receive_buffer_size{receive_buffer}, ignored);
    const auto share = (deadline - std::chrono::steady_clock::now()) / static_cast<int>(left);
    // the exchange has its own timer for look-up, connect and handshake
    if (left == 1)
      plain_.expires_never();
    else
      plain_.expires_after(std::min(attempt_max, share));
    co_await plain_.async_connect(endpoint, asio::redirect_error(asio::use_awaitable, failed));
    if (!failed || is_closed_)
      break;
  }
  plain_.expires_never();
  if (!failed)
    plain_.socket().set_option(asio::ip::tcp::no_delay{true}, failed);
  co_return failed;
}

asio::awaitable<std::pair<net_error, int>> connection::tunnel(std::string host, std::uint16_t port,
                                                              std::string authorization) {
  // The target of CONNECT always contains the port, and brackets around an IPv6 address (RFC 9110,
  // 9.3.6).
  const auto name =
      (host.find(':') == std::string::npos ? host : '[' + host + ']') + ':' + std::to_string(port);
  auto request = http::request<http::empty_body>{http::verb::connect, name, 11};
  request.set(http::field::host, name);
  if (!authorization.empty())
    request.set(http::field::proxy_authorization, authorization);
  auto failed = net_error{};
  co_await http::async_write(plain_, request, asio::redirect_error(asio::use_awaitable, failed));
  auto answer = http::response_parser<http::empty_body>{};
  answer.skip(true); // the bytes after the headers belong to the tunnel
  if (!failed)
    co_await http::async_read_header(plain_, buffer_, answer,
                                     asio::redirect_error(asio::use_awaitable, failed));
  const auto status = failed ? 0 : static_cast<int>(answer.get().result_int());
  if (!failed && has_unread_bytes() && status / 100 == 2)
    failed = http::error::unexpected_body; // the server must not send anything before the request
  co_return std::pair{failed, status};
}

asio::awaitable<net_error> connection::secure(asio::ssl::context& trusted, std::string host,
                                              bool verify) {
  tls_.emplace(std::move(plain_), trusted);
  auto failed = net_error{};
  asio::ip::make_address(host, failed);
  // a server name extension must not contain an IP address
  const auto is_name = static_cast<bool>(failed);
  failed = {};
  // This is the macro SSL_set_tlsext_host_name, expanded to avoid its C cast.
  if (is_name && SSL_ctrl(tls_->native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME,
                          TLSEXT_NAMETYPE_host_name, host.data()) != 1)
    co_return net_error{asio::error::invalid_argument};
  if (verify)
    tls_->set_verify_callback(asio::ssl::host_name_verification{host}, failed);
  if (!failed)
    co_await tls_->async_handshake(asio::ssl::stream_base::client,
                                   asio::redirect_error(asio::use_awaitable, failed));
  co_return failed;
}

std::string connection::handshake_fault(const net_error& failed) {
  if (failed.category() == asio::error::get_ssl_category() &&
      ERR_GET_REASON(static_cast<unsigned long>(failed.value())) == SSL_R_WRONG_VERSION_NUMBER)
    return "the server does not use TLS on this port; an address of a server without TLS begins "
           "with http://";
  const auto code = tls_ ? SSL_get_verify_result(tls_->native_handle()) : X509_V_OK;
  switch (code) {
  case X509_V_OK:
    return {};
  case X509_V_ERR_UNSPECIFIED: // the callback that checks the name sets no code
    return "the certificate is for another host";
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
  case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
  case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
  case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    return std::string{X509_verify_cert_error_string(code)} +
           "; ca_file selects the file with the trusted root certificates";
  default:
    return X509_verify_cert_error_string(code);
  }
}

asio::awaitable<net_error> connection::write(std::string_view head, std::string_view body,
                                             std::chrono::milliseconds timeout) {
  auto failed = net_error{};
  const auto text = std::array<asio::const_buffer, 2>{asio::buffer(head), asio::buffer(body)};
  lowest().expires_after(timeout);
  if (tls_)
    co_await asio::async_write(*tls_, text, asio::redirect_error(asio::use_awaitable, failed));
  else
    co_await asio::async_write(plain_, text, asio::redirect_error(asio::use_awaitable, failed));
  co_return failed;
}

std::size_t connection::write_at_once(std::string_view head, std::string_view body) noexcept {
  if (tls_)
    return 0;
  // iovec has no const pointer, but sendmsg() does not modify the data
  auto parts = std::array<iovec, 2>{{{const_cast<char*>(head.data()), head.size()},
                                     {const_cast<char*>(body.data()), body.size()}}};
  auto text = msghdr{};
  text.msg_iov = parts.data();
  text.msg_iovlen = parts.size();
  const auto sent = ::sendmsg(plain_.socket().native_handle(), &text, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent > 0 ? static_cast<std::size_t>(sent) : 0;
}

asio::awaitable<net_error> connection::read_head(answer_parser& into,
                                                 std::chrono::milliseconds timeout) {
  auto failed = net_error{};
  lowest().expires_after(timeout);
  if (tls_)
    co_await http::async_read_header(*tls_, buffer_, into,
                                     asio::redirect_error(asio::use_awaitable, failed));
  else
    co_await http::async_read_header(plain_, buffer_, into,
                                     asio::redirect_error(asio::use_awaitable, failed));
  co_return failed;
}

asio::awaitable<net_error> connection::read_some(answer_parser& into,
                                                 std::chrono::milliseconds timeout) {
  auto failed = net_error{};
  lowest().expires_after(timeout);
  if (tls_)
    co_await http::async_read_some(*tls_, buffer_, into,
                                   asio::redirect_error(asio::use_awaitable, failed));
  else
    co_await http::async_read_some(plain_, buffer_, into,
                                   asio::redirect_error(asio::use_awaitable, failed));
  if (failed == http::error::need_buffer) // not an error: the caller's buffer is full
    failed = {};
  co_return failed;
}

void connection::release_memory() {
  if (buffer_.capacity() <= buffer_size)
    return;
  buffer_.shrink_to_fit();
  buffer_.reserve(buffer_size);
}

void connection::close() noexcept {
  is_closed_ = true;
  lowest().close();
}

bool connection::is_usable() noexcept {
  auto& socket = lowest().socket();
  if (!socket.is_open() || has_unread_bytes())
    return false;
  auto byte = char{};
  const auto got = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got >= 0 || errno != EAGAIN)
    return false;
  if (!tls_)
    return true;
  // TLS may also have decrypted bytes that were not read yet. They are unrequested, because session
  // tickets arrive before the first answer and were read with it.
  auto* ssl = tls_->native_handle();
  return SSL_has_pending(ssl) == 0 && BIO_ctrl_pending(SSL_get_rbio(ssl)) == 0;
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// HTTPS: trusted and untrusted certificates.
#include "loopback_server.hpp"
#include "private_authority.hpp"

#include <superstep/base/await.hpp>
#include <superstep/net/http_client.hpp>

#include <boost/asio/ssl.hpp>
#include <boost/test/unit_test.hpp>

#include <array>

using namespace superstep;
using test::loopback_server;
using test::private_authority;

namespace https_test {

namespace {

struct https_fixture {
  private_authority authority;
  std::string said_besides; ///< sent after each answer
  boost::asio::ssl::context context{boost::asio::ssl::context::tls_server};
  loopback_server server{[this](loopback_server::socket& socket, int) { serve(socket); }};
  io_runtime io;

  https_fixture() {
    context.use_certificate_file(authority.file("cert.pem"), boost::asio::ssl::context::pem);
    context.use_private_key_file(authority.file("key.pem"), boost::asio::ssl::context::pem);
  }
  void serve(loopback_server::socket& socket) {
    auto failed = boost::system::error_code{};
    auto stream = boost::asio::ssl::stream<loopback_server::socket&>{socket, context};
    stream.handshake(boost::asio::ssl::stream_base::server, failed);
    while (!failed) {
      auto text = std::string{};
      boost::asio::read_until(stream, boost::asio::dynamic_buffer(text), "\r\n\r\n", failed);
      if (!failed)
        boost::asio::write(
            stream, boost::asio::buffer(loopback_server::answer("secret") + said_besides), failed);
    }
  }
  result<http_response> get(const std::string& host, http_client_options options) {
    auto client = http_client::make(io, std::move(options));
    BOOST_REQUIRE(client.has_value());
    auto request = http_request{};
    request.url = "https://" + host + ':' + std::to_string(server.port());
    auto first = sync_wait(client->send(request));
    if (!first)
      return first;
    return sync_wait(client->send(request)); // the second request uses the kept connection
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(https_suite, https_fixture)

BOOST_AUTO_TEST_CASE(certificate_of_trusted_authority_is_accepted) {
  for (const auto* host : {"127.0.0.1", "localhost"}) {
    auto options = http_client_options{};
    options.ca_file = authority.file("ca.pem");
    const auto answer = get(host, std::move(options));
    BOOST_REQUIRE_MESSAGE(answer.has_value(), (answer ? "" : answer.error().text));
    BOOST_TEST(answer->body == "secret");
  }
  BOOST_TEST(server.connections() == 2);
}

BOOST_AUTO_TEST_CASE(unrequested_bytes_close_the_tls_connection) {
  said_besides = loopback_server::answer("not asked for");
  auto options = http_client_options{};
  options.ca_file = authority.file("ca.pem");
  const auto answer = get("localhost", std::move(options));
  BOOST_REQUIRE_MESSAGE(answer.has_value(), (answer ? "" : answer.error().text));
  BOOST_TEST(answer->body == "secret");
  BOOST_TEST(server.connections() == 2);
}

BOOST_AUTO_TEST_CASE(certificate_of_unknown_authority_is_rejected) {
  const auto answer = get("127.0.0.1", http_client_options{});
  BOOST_REQUIRE(answer.has_error());
  const auto& e = answer.error();
  BOOST_TEST((e.code == make_error_code(errc::io_failed)));
  BOOST_TEST(e.text.find("certificate; ca_file selects") != std::string::npos, e.text);
  auto unchecked = http_client_options{};
  unchecked.tls_verify = false;
  BOOST_TEST(get("127.0.0.1", std::move(unchecked)).has_value());
}

BOOST_AUTO_TEST_CASE(certificate_for_another_host_is_rejected) {
  auto options = http_client_options{};
  options.ca_file = authority.file("ca.pem");
  // a short form of 127.0.0.1 that is not a name in the certificate
  const auto answer = get("127.1", std::move(options));
  BOOST_REQUIRE(answer.has_error());
  BOOST_TEST(answer.error().text.find("the certificate is for another host") != std::string::npos,
             answer.error().text);
}

BOOST_AUTO_TEST_CASE(server_without_tls_is_named) {
  auto plain = loopback_server{[](loopback_server::socket& socket, int) {
    auto start = std::array<char, 1>{};
    boost::asio::read(socket, boost::asio::buffer(start));
    loopback_server::write(socket, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  }};
  auto client = http_client::make(io, http_client_options{});
  BOOST_REQUIRE(client.has_value());
  auto request = http_request{};
  request.url = "https://127.0.0.1:" + std::to_string(plain.port());
  const auto answer = sync_wait(client->send(request));
  BOOST_REQUIRE(!answer);
  BOOST_TEST(answer.error().text.find("the server does not use TLS on this port") !=
                 std::string::npos,
             answer.error().text);
}

BOOST_AUTO_TEST_CASE(missing_ca_file_is_an_error) {
  auto options = http_client_options{};
  options.ca_file = "/no/such/ca.pem";
  BOOST_TEST(http_client::make(io, std::move(options)).has_error());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace https_test

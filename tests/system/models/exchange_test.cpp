// SPDX-License-Identifier: Apache-2.0
// The headers of requests and responses.
#include "loopback_server.hpp"

#include <superstep/base/await.hpp>
#include <superstep/net/http_client.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>
#include <string>
#include <thread>

#include <zlib.h>

using namespace superstep;
using test::loopback_server;

namespace {

/// Sends a GET request with these headers to a server that answers with `answer`. Stores the head
/// of the request in `seen`.
result<http_response> exchange_with(std::string answer, http_headers headers, std::string& seen) {
  auto head = std::promise<std::string>{};
  auto server = loopback_server{[&](auto& socket, int) {
    head.set_value(loopback_server::read_head(socket));
    loopback_server::write(socket, answer);
  }};
  auto io = io_runtime{};
  auto request = http_request{};
  request.url = server.address() + "/";
  request.headers = std::move(headers);
  auto client = http_client::make(io, {}).value();
  auto out = sync_wait(client.send(std::move(request)));
  seen = head.get_future().get();
  return out;
}

std::size_t count(std::string_view text, std::string_view part) {
  auto out = std::size_t{0};
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1))
    ++out;
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(request_headers_replace_host_and_user_agent) {
  auto seen = std::string{};
  const auto answer = exchange_with(loopback_server::answer("x"),
                                    {{"host", "a.org"}, {"User-agent", "mine/1"}}, seen);
  BOOST_TEST(answer.has_value());
  BOOST_TEST(seen.starts_with("GET / HTTP/1.1\r\nHost: a.org\r\n"), seen);
  BOOST_TEST(count(seen, "\r\nHost:") + count(seen, "\r\nhost:") == 1, seen);
  BOOST_TEST(seen.find("\r\nUser-Agent: mine/1\r\n") != seen.npos, seen);
  BOOST_TEST(count(seen, "\r\nUser-") == 1, seen);
}

BOOST_AUTO_TEST_CASE(user_agent_of_client_is_the_default) {
  auto seen = std::string{};
  BOOST_TEST(exchange_with(loopback_server::answer("x"), {}, seen).has_value());
  BOOST_TEST(seen.find("\r\nUser-Agent: superstep\r\n") != seen.npos, seen);
}

BOOST_AUTO_TEST_CASE(x_gzip_body_is_decompressed) {
  auto body = std::string(200, '\0');
  auto z = z_stream{};
  BOOST_REQUIRE(::deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  auto text = std::string{"hello"};
  z.next_in = reinterpret_cast<Bytef*>(text.data());
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(body.data());
  z.avail_out = static_cast<uInt>(body.size());
  BOOST_REQUIRE(::deflate(&z, Z_FINISH) == Z_STREAM_END);
  body.resize(z.total_out);
  ::deflateEnd(&z);
  auto seen = std::string{};
  const auto answer = exchange_with("HTTP/1.1 200 OK\r\nContent-Encoding: X-Gzip\r\n"
                                    "Content-Length: " +
                                        std::to_string(body.size()) + "\r\n\r\n" + body,
                                    {}, seen);
  BOOST_REQUIRE(answer.has_value());
  BOOST_TEST(answer->body == "hello");
}

BOOST_AUTO_TEST_CASE(endless_chunk_headers_and_trailers_are_too_large) {
  for (const auto* begin : {"5;", "2\r\nab\r\n0\r\nX: "}) {
    auto server = loopback_server{[&](auto& socket, int) {
      loopback_server::read_head(socket);
      loopback_server::write(socket, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      loopback_server::write(socket, begin + std::string(1'000'000, 'x'));
      loopback_server::read_head(socket); // until the client disconnects
    }};
    auto io = io_runtime{};
    auto options = http_client_options{};
    options.idle_timeout = std::chrono::seconds{3};
    auto request = http_request{};
    request.url = server.address() + "/";
    const auto answer = sync_wait(http_client::make(io, options)->send(std::move(request)));
    BOOST_REQUIRE(answer.has_error());
    const auto& e = answer.error();
    BOOST_TEST((e.code == make_error_code(errc::too_large)), e.text);
    BOOST_TEST(e.text.find("a chunk header or the trailers") != e.text.npos, e.text);
  }
}

namespace {

/// Reads one piece of a body and then calls finish(). Returns the piece.
task<std::string> read_piece(const http_client& client, std::string url,
                             std::chrono::milliseconds longest) {
  auto request = http_request{};
  request.url = std::move(url);
  auto opening = client.open(std::move(request));
  auto stream = co_await opening;
  auto reading = stream.value().next();
  const auto piece = co_await reading;
  auto ending = stream->finish(longest);
  co_await ending;
  co_return piece.value().value();
}

} // namespace

BOOST_AUTO_TEST_CASE(finish_keeps_the_connection_of_a_body_that_ends) {
  auto server = loopback_server{[](auto& socket, int) {
    while (!loopback_server::read_head(socket).empty()) {
      loopback_server::write(socket,
                             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
      loopback_server::write(socket, "2\r\nde\r\n0\r\n\r\n");
    }
  }};
  auto io = io_runtime{};
  const auto client = http_client::make(io, {}).value();
  for (auto i = 0; i < 3; ++i)
    BOOST_TEST(sync_wait(read_piece(client, server.address(), std::chrono::seconds{20})) == "abc");
  BOOST_TEST(server.connections() == 1);
}

BOOST_AUTO_TEST_CASE(finish_closes_the_connection_of_a_body_that_does_not_end) {
  auto closed = std::promise<void>{};
  auto server = loopback_server{[&](auto& socket, int number) {
    loopback_server::read_head(socket);
    loopback_server::write(socket,
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    if (loopback_server::read_head(socket).empty() && number == 0)
      closed.set_value();
  }};
  auto io = io_runtime{};
  const auto client = http_client::make(io, {}).value();
  for (auto i = 0; i < 2; ++i)
    BOOST_TEST(sync_wait(read_piece(client, server.address(), std::chrono::milliseconds{20})) ==
               "abc");
  BOOST_TEST((closed.get_future().wait_for(std::chrono::seconds{20}) == std::future_status::ready));
  BOOST_TEST(server.connections() == 2);
}

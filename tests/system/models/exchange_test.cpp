// SPDX-License-Identifier: Apache-2.0
// The headers of requests and responses.
#include "loopback_server.hpp"

#include <superstep/base/await.hpp>
#include <superstep/net/http_client.hpp>

#include <boost/test/unit_test.hpp>

#include <future>
#include <string>

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

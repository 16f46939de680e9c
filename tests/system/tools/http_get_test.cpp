// SPDX-License-Identifier: Apache-2.0
// The http_get tool: redirects, allowed hosts, errors, size and time limits.
#include "support/no_descriptors.hpp"
#include "tools/run_tool.hpp"

#include <superstep/tools/built_in_tools.hpp>

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace superstep;

namespace http_get_test {

namespace {

/// A web server on loopback: one thread that serves one connection after the other.
class loopback_server {
public:
  loopback_server() : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    auto address = sockaddr_in{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto length = socklen_t{sizeof address};
    auto* any = static_cast<sockaddr*>(static_cast<void*>(&address));
    BOOST_REQUIRE(::bind(socket_, any, length) == 0);
    BOOST_REQUIRE(::listen(socket_, 16) == 0);
    BOOST_REQUIRE(::getsockname(socket_, any, &length) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread{[this] { serve(); }};
  }
  ~loopback_server() {
    ::shutdown(socket_, SHUT_RDWR); // ends accept()
    thread_.join();
    ::close(socket_);
  }
  loopback_server(const loopback_server&) = delete;
  loopback_server& operator=(const loopback_server&) = delete;

  [[nodiscard]] std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::string url(const std::string& path) const { return "http://" + host() + path; }

private:
  /// Returns a negative number after the shutdown.
  [[nodiscard]] int next_connection() const {
    auto peer = ::accept(socket_, nullptr, nullptr);
    while (peer < 0 && errno == EMFILE) { // a test uses all descriptors of the process
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
      peer = ::accept(socket_, nullptr, nullptr);
    }
    return peer;
  }
  void serve() {
    for (auto peer = next_connection(); peer >= 0; peer = next_connection()) {
      auto request = std::string{};
      auto buffer = std::string(4096, '\0');
      while (request.find("\r\n\r\n") == std::string::npos) {
        const auto n = ::read(peer, buffer.data(), buffer.size());
        if (n <= 0)
          break;
        request.append(buffer, 0, static_cast<std::size_t>(n));
      }
      if (request.empty()) { // the client gave up before it sent its request
        ::close(peer);
        continue;
      }
      const auto path = request.substr(4, request.find(' ', 4) - 4);
      if (path != "/silent") {
        const auto text = answer(path);
        [[maybe_unused]] const auto sent = ::write(peer, text.data(), text.size());
      } else {
        [[maybe_unused]] const auto end =
            ::read(peer, buffer.data(), buffer.size()); // until the client disconnects
      }
      ::close(peer);
    }
  }

  [[nodiscard]] std::string answer(const std::string& path) const {
    if (path == "/page")
      return reply("200 OK", "", "hello");
    if (path == "/moved")
      return reply("302 Found", "Location: /page\r\n", "");
    if (path == "/away")
      return reply("302 Found", "Location: http://example.invalid/page\r\n", "");
    if (path == "/scheme")
      return reply("302 Found", "Location: file:///etc/passwd\r\n", "");
    if (path == "/loop")
      return reply("302 Found", "Location: /loop\r\n", "");
    if (path == "/large")
      return reply("200 OK", "", std::string(5000, 'x'));
    return reply("404 Not Found", "", "no such page");
  }

  static std::string reply(const std::string& status, const std::string& headers,
                           const std::string& body) {
    return "HTTP/1.1 " + status + "\r\n" + headers +
           "Connection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           body;
  }

  int socket_;
  int port_ = 0;
  std::thread thread_;
};

struct web {
  loopback_server server;
  io_runtime io;

  [[nodiscard]] tool_output get(const std::string& url, std::uint32_t timeout_ms = 10'000) {
    auto client = http_client::make(io, {});
    BOOST_REQUIRE(client.has_value());
    auto options = http_get_options{};
    options.allow_hosts = {server.host()};
    options.max_bytes = 1000;
    options.timeout = std::chrono::milliseconds{timeout_ms};
    const auto tool =
        make_http_get(std::make_shared<const http_client>(*std::move(client)), options);
    BOOST_REQUIRE(tool.has_value());
    return testing::run_tool(**tool, {{"url", url}});
  }
};

void check_error(const tool_output& out, std::string_view part) {
  BOOST_TEST_INFO(out.content);
  BOOST_TEST(out.is_error);
  BOOST_TEST(out.content.find(part) != std::string::npos);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(http_get_pages, web)

BOOST_AUTO_TEST_CASE(response_body_is_the_tool_result) {
  const auto out = get(server.url("/page"));
  BOOST_TEST(out.content == "hello");
  BOOST_TEST(!out.is_error);
}

BOOST_AUTO_TEST_CASE(descriptor_shortage_throws_system_error) {
  // The first request lets the client open the descriptors that it keeps.
  BOOST_TEST(get(server.url("/page")).content == "hello");
  const auto is_short = [](const std::system_error& e) { return is_shortage(e.code()); };
  {
    const auto shortage = no_descriptors{};
    BOOST_CHECK_EXCEPTION(get(server.url("/page"), 1'000), std::system_error, is_short);
  }
  BOOST_TEST(get(server.url("/page")).content == "hello");
}

BOOST_AUTO_TEST_CASE(redirect_to_allowed_host_is_followed) {
  BOOST_TEST(get(server.url("/moved")).content == "hello");
}

BOOST_AUTO_TEST_CASE(redirect_to_other_host_or_scheme_is_rejected) {
  check_error(get(server.url("/away")), "'example.invalid' is not among the hosts");
  check_error(get(server.url("/scheme")), "file:///etc/passwd");
}

BOOST_AUTO_TEST_CASE(redirect_loop_is_an_error) {
  check_error(get(server.url("/loop")), "more than 5 redirects");
}

BOOST_AUTO_TEST_CASE(request_to_unlisted_host_or_scheme_is_rejected) {
  check_error(get("http://example.invalid/"), "not among the hosts");
  check_error(get("http://127.0.0.1/"), "not among the hosts");
  check_error(get("ftp://127.0.0.1/"), "ftp://127.0.0.1/");
}

BOOST_AUTO_TEST_CASE(error_status_becomes_error_result_with_body) {
  check_error(get(server.url("/other")), "status 404: no such page");
}

BOOST_AUTO_TEST_CASE(overlong_answer_and_timeout_are_error_results) {
  BOOST_TEST(get(server.url("/large")).is_error);
  BOOST_TEST(get(server.url("/silent"), 100).is_error);
}

BOOST_AUTO_TEST_CASE(invalid_options_are_rejected) {
  auto client = http_client::make(io, {});
  const auto shared = std::make_shared<const http_client>(*std::move(client));
  BOOST_TEST(make_http_get(shared, {}).has_error());
  auto options = http_get_options{};
  options.allow_hosts = {"example.org"};
  options.timeout = std::chrono::milliseconds{0};
  BOOST_TEST(make_http_get(shared, options).has_error());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace http_get_test

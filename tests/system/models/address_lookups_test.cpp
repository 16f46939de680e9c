// SPDX-License-Identifier: Apache-2.0
// Requests that look up the same host at the same time, with a slow name server.
#include "loopback_server.hpp"

#include <superstep/base/await.hpp>
#include <superstep/net/http_client.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <netdb.h>

using namespace superstep;
using namespace std::chrono_literals;
using test::loopback_server;

namespace {

std::atomic<int> lookups_of_slow_host = 0;

} // namespace

/// Replaces the function of the system: the look-ups of `slow.test` and `stuck.test` take long and
/// find 127.0.0.1, that of `missing.test` takes long and fails.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  const auto name = std::string_view{host != nullptr ? host : ""};
  if (name == "slow.test" || name == "stuck.test" || name == "missing.test") {
    ++lookups_of_slow_host;
    std::this_thread::sleep_for(name == "stuck.test" ? 1s : 200ms);
    if (name == "missing.test")
      return EAI_NONAME;
    host = "127.0.0.1";
  }
  void* next = ::dlsym(RTLD_NEXT, "getaddrinfo");
  return reinterpret_cast<decltype(&getaddrinfo)>(next)(host, service, hints, found);
}

BOOST_AUTO_TEST_SUITE(address_lookups_suite)

namespace {

constexpr auto requests = 20;

http_client client_of(io_runtime& io, std::chrono::milliseconds connect_timeout) {
  auto options = http_client_options{};
  options.connect_timeout = connect_timeout;
  auto made = http_client::make(io, std::move(options));
  BOOST_REQUIRE(made.has_value());
  return std::move(*made);
}

/// Sends `requests` requests at the same time, and returns the results.
std::vector<result<http_response>> send_all(const http_client& client, const std::string& url) {
  auto out = std::vector<result<http_response>>(requests, error{errc::io_failed, "not sent"});
  auto threads = std::vector<std::jthread>{};
  for (auto& answer : out)
    threads.emplace_back([&client, &url, &answer] {
      auto request = http_request{};
      request.url = url;
      answer = sync_wait(client.send(std::move(request)));
    });
  threads.clear();
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(requests_to_one_host_share_its_lookup) {
  auto server = loopback_server{[](auto& socket, int) {
    loopback_server::read_head(socket);
    loopback_server::write(socket, loopback_server::answer("x"));
  }};
  auto io = io_runtime{};
  lookups_of_slow_host = 0;
  // one after another, the look-ups of all requests would take longer than the timeout
  const auto client = client_of(io, requests * 200ms / 2);
  for (const auto& answer :
       send_all(client, "http://slow.test:" + std::to_string(server.port()) + "/"))
    BOOST_TEST(answer.has_value(), (answer ? "" : answer.error().text));
  // a thread that starts late needs another look-up
  BOOST_TEST(lookups_of_slow_host <= requests / 4);
}

BOOST_AUTO_TEST_CASE(requests_to_unknown_host_share_the_failure) {
  auto io = io_runtime{};
  lookups_of_slow_host = 0;
  const auto client = client_of(io, 5s);
  for (const auto& answer : send_all(client, "http://missing.test/")) {
    BOOST_TEST(!answer.has_value());
    BOOST_TEST(answer.error().text.find("looking up the host failed") != std::string::npos,
               answer.error().text);
  }
  BOOST_TEST(lookups_of_slow_host <= requests / 4);
}

BOOST_AUTO_TEST_CASE(timeout_ends_the_wait_for_a_lookup) {
  auto io = io_runtime{};
  const auto client = client_of(io, 20ms);
  auto request = http_request{};
  request.url = "http://stuck.test/";
  const auto begun = std::chrono::steady_clock::now();
  const auto answer = sync_wait(client.send(std::move(request)));
  BOOST_TEST((std::chrono::steady_clock::now() - begun < 800ms));
  BOOST_REQUIRE(!answer.has_value());
  BOOST_TEST((answer.error().code == errc::timed_out));
}

BOOST_AUTO_TEST_CASE(lookup_may_outlive_its_client) {
  auto io = io_runtime{};
  for (auto i = 0; i < 2; ++i) {
    const auto client = client_of(io, 5ms);
    auto request = http_request{};
    request.url = "http://slow.test/";
    BOOST_TEST(!sync_wait(client.send(std::move(request))).has_value());
  }
}

BOOST_AUTO_TEST_SUITE_END()

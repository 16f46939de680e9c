// SPDX-License-Identifier: Apache-2.0
// Requests to actors of another actor system, over a TCP connection on the loopback interface.
#include "peers.hpp"

#include <superstep/interop/actor_client.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/io/all.hpp>

#include <chrono>
#include <memory>

using namespace testing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(remote_actor)

namespace {

struct io_config : caf_config {
  io_config() { load<caf::io::middleman>(); }
};

/// An actor system that publishes one actor on a free port.
struct server {
  io_config config;
  caf::actor_system system{config};
  caf::actor actor = system.spawn([]() -> caf::behavior {
    return {[](const city_args& args) { return "sunny in " + args.city; },
            [](int) -> caf::result<int> { return caf::make_error(caf::sec::runtime_error); }};
  });
  std::uint16_t port = publish();

  server() = default;
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  ~server() { caf::anon_send_exit(actor, caf::exit_reason::user_shutdown); }

private:
  std::uint16_t publish() {
    const auto bound = system.middleman().publish(actor, 0, "127.0.0.1");
    BOOST_TEST_REQUIRE(static_cast<bool>(bound));
    return *bound;
  }
};

} // namespace

BOOST_AUTO_TEST_CASE(remote_actor_answers_requests) {
  auto peer = server{};
  auto config = io_config{};
  auto system = caf::actor_system{config};
  const auto handle = system.middleman().remote_actor("127.0.0.1", peer.port);
  BOOST_TEST_REQUIRE(static_cast<bool>(handle));
  const auto client = ss::actor_client{*handle};
  const auto answer =
      ss::sync_wait(client.request<std::string>({.timeout = 30s}, city_args{"Oslo"}));
  BOOST_TEST(answer == "sunny in Oslo");
  BOOST_TEST((failure_of(client.request<int>({.timeout = 30s}, 1)) == ss::actor_errc::refused));
}

BOOST_AUTO_TEST_CASE(end_of_remote_system_fails_requests) {
  auto peer = std::make_unique<server>();
  auto config = io_config{};
  auto system = caf::actor_system{config};
  const auto handle = system.middleman().remote_actor("127.0.0.1", peer->port);
  BOOST_TEST_REQUIRE(static_cast<bool>(handle));
  const auto client = ss::actor_client{*handle};
  peer.reset();
  BOOST_TEST((failure_of(client.request<std::string>({.timeout = 30s}, city_args{"Oslo"})) ==
              ss::actor_errc::down));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// Requests to actors of another actor system, over a TCP connection on the loopback interface.
#include "peers.hpp"

#include <superstep/actors/caf.hpp>
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

namespace {

/// Passes writes of an actor in another process to a run; as in docs/actors.md.
caf::behavior relay(caf::event_based_actor* self, const caf::actor& run) {
  self->monitor(run);
  self->set_down_handler([self](const caf::down_msg&) { self->quit(); }); // the run has ended
  return {[=](ss::write_atom write, const std::string& channel, const std::string& text) {
    return self->delegate(run, write, channel, text);
  }};
}

} // namespace

BOOST_AUTO_TEST_CASE(relay_passes_writes_of_remote_actor_to_run) {
  auto peer_config = io_config{};
  auto peer = caf::actor_system{peer_config};
  auto answered = std::promise<bool>{};
  const auto clerk = peer.spawn([&answered](caf::event_based_actor* self) -> caf::behavior {
    return {[&answered, self](const caf::actor& run) {
      self->request(run, 30s, ss::write_atom::value, std::string{"n"}, std::string{"42"})
          .then([&] { answered.set_value(true); },
                [&](const caf::error&) { answered.set_value(false); });
      self->unbecome();
    }};
  });
  const auto port = peer.middleman().publish(clerk, 0, "127.0.0.1");
  BOOST_TEST_REQUIRE(static_cast<bool>(port));
  auto config = io_config{};
  auto system = caf::actor_system{config};
  auto e = ss::engine{{.workers = 1}};
  const auto far = system.middleman().remote_actor("127.0.0.1", *port);
  BOOST_TEST_REQUIRE(static_cast<bool>(far));
  auto g = ss::graph<numbers>{};
  g.add("wait", [&](const numbers&, ss::runtime rt) -> ss::task<void> {
    caf::anon_send(*far, system.spawn(relay, ss::coordinator(rt)));
    auto waiting = ss::next_write<int>(rt, "n");
    static_cast<void>(co_await waiting);
  });
  g.edge(ss::start, "wait");
  BOOST_TEST(e.invoke(g.compile(), numbers{}).state.n == 42);
  BOOST_TEST(answered.get_future().get());
}

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

// SPDX-License-Identifier: Apache-2.0
// Requests from coroutines to CAF actors: answers, errors, ends of actors, timeouts, cancellation.
#include "peers.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <thread>

using namespace testing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(actor_client)

namespace {

caf::behavior refuses(caf::event_based_actor*) {
  return {[](int) -> caf::result<int> {
            return caf::make_error(caf::sec::invalid_argument, std::string{"too small"});
          },
          [](const std::string& text) { return text + "!"; }};
}

/// Waits until a condition holds; fails the test after 10 s.
template <class Condition>
void await(Condition holds) {
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (!holds()) {
    BOOST_TEST_REQUIRE((std::chrono::steady_clock::now() < end));
    std::this_thread::sleep_for(1ms);
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(request_returns_answer_of_typed_actor) {
  auto system = peer_system{};
  const auto client = ss::actor_client{system.spawn(add_numbers)};
  BOOST_TEST(ss::sync_wait(client.request<int>({}, 20, 22)) == 42);
  BOOST_TEST(ss::sync_wait(client.request<int>({.timeout = 10s}, 1, 2)) == 3);
}

BOOST_AUTO_TEST_CASE(request_returns_answer_of_dynamic_actor) {
  auto system = peer_system{};
  const auto handle = system.spawn(refuses);
  const auto client = ss::actor_client{handle};
  BOOST_TEST(ss::sync_wait(client.request<std::string>({}, "yes")) == "yes!");
  const auto whole = ss::sync_wait(client.request({}, std::string{"no"}));
  BOOST_TEST(whole.get_as<std::string>(0) == "no!");
}

BOOST_AUTO_TEST_CASE(error_of_actor_is_thrown_with_its_reason) {
  auto system = peer_system{};
  const auto client = ss::actor_client{system.spawn(refuses)};
  BOOST_CHECK_EXCEPTION(
      ss::sync_wait(client.request<int>({}, 1)), ss::actor_error, [](const ss::actor_error& e) {
        return e.code() == ss::actor_errc::refused && e.reason() == caf::sec::invalid_argument &&
               std::string{e.what()}.find("too small") != std::string::npos;
      });
  BOOST_TEST(client.is_alive());
}

BOOST_AUTO_TEST_CASE(answer_of_other_type_is_rejected) {
  auto system = peer_system{};
  const auto client = ss::actor_client{system.spawn(refuses)};
  BOOST_TEST((failure_of(client.request<double>({}, std::string{"x"})) ==
              ss::actor_errc::unexpected_answer));
}

BOOST_AUTO_TEST_CASE(request_to_ended_actor_fails_at_once) {
  auto system = peer_system{};
  const auto handle = system.spawn(refuses);
  caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
  const auto late = [&] {
    const auto client = ss::actor_client{handle};
    return !client.is_alive();
  };
  await(late);
  BOOST_TEST((failure_of(ss::actor_client{handle}.request<int>({}, 1)) == ss::actor_errc::down));
}

BOOST_AUTO_TEST_CASE(end_of_actor_fails_its_open_requests) {
  auto system = peer_system{};
  const auto handle = system.spawn([](caf::event_based_actor* self) -> caf::behavior {
    return {[self](int) -> caf::result<int> {
              self->delayed_send(self, 10ms, std::string{"end"});
              return self->make_response_promise<int>();
            },
            [self](const std::string&) { self->quit(caf::exit_reason::kill); }};
  });
  const auto client = ss::actor_client{handle};
  BOOST_CHECK_EXCEPTION(
      ss::sync_wait(client.request<int>({}, 1)), ss::actor_error, [](const ss::actor_error& e) {
        return e.code() == ss::actor_errc::down && e.reason() == caf::exit_reason::kill;
      });
  BOOST_TEST(!client.is_alive());
}

BOOST_AUTO_TEST_CASE(request_without_answer_times_out) {
  auto system = peer_system{};
  const auto handle = system.spawn<hoarder>();
  const auto client = ss::actor_client{handle};
  BOOST_TEST((failure_of(client.request<int>({.timeout = 20ms}, 1)) == ss::actor_errc::timed_out));
  BOOST_TEST(client.is_alive());
  caf::anon_send_exit(handle, caf::exit_reason::kill);
}

BOOST_AUTO_TEST_CASE(destroyed_coroutine_forgets_its_request) {
  auto system = peer_system{};
  auto sent = std::atomic<bool>{false};
  auto answered = std::atomic<bool>{false};
  const auto handle = system.spawn([&](caf::event_based_actor* self) -> caf::behavior {
    return {[&, self](int) -> caf::result<int> {
      auto promise = self->make_response_promise<int>();
      sent = true;
      self->delayed_send(self, 30ms, std::string{"now"});
      self->become([&, promise](const std::string&) mutable {
        promise.deliver(1);
        answered = true;
      });
      return promise;
    }};
  });
  const auto client = ss::actor_client{handle};
  {
    auto e = ss::engine{{.workers = 1}};
    auto reached = std::atomic<bool>{false};
    auto g = ss::graph<numbers>{};
    g.add("ask", [&](const numbers&) -> ss::task<void> {
      auto asking = client.request<int>({}, 1);
      static_cast<void>(co_await asking);
      reached = true;
    });
    g.edge(ss::start, "ask");
    auto ended = std::promise<ss::run_result<numbers>>{};
    const auto run = e.submit(g.compile(), numbers{}, {},
                              [&](ss::run_result<numbers> r) { ended.set_value(std::move(r)); });
    await([&] { return sent.load(); });
    run.cancel();
    const auto result = ended.get_future().get();
    BOOST_TEST_REQUIRE(result.error.has_value());
    BOOST_TEST(result.error->code == ss::graph_errc::cancelled);
    await([&] { return answered.load(); });
    BOOST_TEST(!reached);
  }
  caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
}

BOOST_AUTO_TEST_CASE(many_requests_run_at_once_on_one_lane) {
  auto system = peer_system{};
  const auto client = ss::actor_client{system.spawn(add_numbers)};
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  const auto worker = ss::node<int>{"worker"};
  g.add("split", [](const numbers&) {});
  g.add(worker, [&](const int& n) -> ss::task<ss::update<numbers>> {
    auto asking = client.request<int>({.timeout = 60s}, n, 1);
    const auto got = co_await asking;
    auto out = ss::update{ss::set<&numbers::total>(got)};
    co_return out;
  });
  g.edge(ss::start, "split").branch("split", [worker](const numbers& s) {
    auto all = ss::destinations{};
    for (auto i = 0; i < s.n; ++i)
      all.emplace_back(worker, i);
    return all;
  });
  const auto done = e.invoke(g.compile(), numbers{.n = 2'000});
  BOOST_TEST(done.state.total == 2'000 * 1'999 / 2 + 2'000);
}

BOOST_AUTO_TEST_CASE(empty_handle_is_rejected) {
  BOOST_CHECK_THROW(ss::actor_client{caf::strong_actor_ptr{}}, std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

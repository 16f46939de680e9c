// SPDX-License-Identifier: Apache-2.0
// Nodes whose bodies are requests to CAF actors.
#include "peers.hpp"

#include <superstep/interop/actor_client.hpp>
#include <superstep/interop/graph_actor.hpp>
#include <superstep/runtime/json_graph.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>

using namespace testing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(node_actor)

namespace {

ss::update<numbers> set_total(int sum) {
  return ss::update{ss::set<&numbers::total>(sum)};
}

std::tuple<int, int> both(const numbers& s) {
  return {s.n, 2};
}

} // namespace

BOOST_AUTO_TEST_CASE(typed_actor_answers_for_node) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 2}};
  auto g = ss::graph<numbers>{};
  g.add("add", ss::node_actor(system.spawn(add_numbers), both, set_total)).edge(ss::start, "add");
  BOOST_TEST(e.invoke(g.compile(), numbers{.n = 40}).state.total == 42);
}

BOOST_AUTO_TEST_CASE(dynamic_actor_answers_for_sends) {
  auto system = peer_system{};
  const auto handle = system.spawn([]() -> caf::behavior { return {[](int n) { return 2 * n; }}; });
  auto e = ss::engine{{.workers = 2}};
  auto g = ss::graph<numbers>{};
  const auto worker = ss::node<int>{"worker"};
  g.add("split", [](const numbers&) {});
  g.add(worker,
        ss::node_actor(handle, [](const int& n) { return n; }, set_total, {.timeout = 30s}));
  g.edge(ss::start, "split").branch("split", [worker](const numbers&) {
    auto all = ss::destinations{};
    all.emplace_back(worker, 10);
    all.emplace_back(worker, 11);
    return all;
  });
  BOOST_TEST(e.invoke(g.compile(), numbers{}).state.total == 42);
}

BOOST_AUTO_TEST_CASE(actor_without_answer_content_ends_node) {
  auto system = peer_system{};
  auto seen = std::atomic<int>{0};
  const auto handle =
      system.spawn([&seen]() -> caf::behavior { return {[&seen](int n) { seen = n; }}; });
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add("log", ss::node_actor(
                   handle, [](const numbers& s) { return s.n; },
                   [] { return ss::update{ss::set<&numbers::total>(1)}; }));
  g.edge(ss::start, "log");
  BOOST_TEST(e.invoke(g.compile(), numbers{.n = 7}).state.total == 1);
  BOOST_TEST(seen == 7);
}

BOOST_AUTO_TEST_CASE(retry_policy_sees_end_of_actor) {
  auto system = peer_system{};
  const auto handle = system.spawn([](caf::event_based_actor* self) -> caf::behavior {
    return {[self](int) -> caf::result<int> {
      self->quit(caf::exit_reason::user_shutdown);
      return self->make_response_promise<int>();
    }};
  });
  auto e = ss::engine{{.workers = 1}};
  auto seen = std::vector<std::error_code>{};
  auto options = ss::node_options{};
  options.retry = {{.max_attempts = 3, .initial_interval = 1ms, .jitter = false}};
  options.retry.front().retry_on = [&seen](const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const ss::actor_error& failed) {
      seen.push_back(failed.code());
    }
    return true;
  };
  auto g = ss::graph<numbers>{};
  g.add("ask",
        ss::node_actor(
            handle, [](const numbers& s) { return s.n; }, set_total),
        options);
  g.edge(ss::start, "ask");
  const auto result = e.try_invoke(g.compile(), numbers{});
  BOOST_TEST_REQUIRE(result.error.has_value());
  BOOST_TEST(result.error->code == ss::graph_errc::node_failed);
  BOOST_TEST(result.error->text.find("ended before it answered") != std::string::npos,
             result.error->text);
  BOOST_TEST(seen.size() == 3U);
  for (const auto& code : seen)
    BOOST_TEST((code == ss::actor_errc::down));
}

BOOST_AUTO_TEST_CASE(failure_of_graph_actor_is_shown_as_text) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto inner = ss::json_graph{};
  inner.channel("n").add("fail",
                         [](const ss::json::value&) { throw std::runtime_error{"no luck"}; });
  inner.edge("__start__", "fail");
  const auto handle = ss::spawn_graph(system, e, inner.compile());
  auto g = ss::graph<numbers>{};
  g.add("ask",
        ss::node_actor(
            handle, [](const numbers&) { return std::string{"{}"}; }, [](const std::string&) {}));
  g.edge(ss::start, "ask");
  const auto result = e.try_invoke(g.compile(), numbers{});
  BOOST_TEST_REQUIRE(result.error.has_value());
  const auto& text = result.error->text;
  BOOST_TEST(text.find("answered with the error: node 'fail'") != std::string::npos, text);
  BOOST_TEST(text.find("no luck") != std::string::npos, text);
  BOOST_TEST(text.find("ss_graph") == std::string::npos, text);
  BOOST_TEST(text.find("invalid-node") == std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(timeout_of_node_abandons_request) {
  auto system = peer_system{};
  const auto handle = system.spawn<hoarder>();
  auto e = ss::engine{{.workers = 1}};
  auto options = ss::node_options{};
  options.timeout = ss::timeout_policy{.run = 20ms};
  auto g = ss::graph<numbers>{};
  g.add("ask",
        ss::node_actor(
            handle, [](const numbers& s) { return s.n; }, set_total),
        options);
  g.edge(ss::start, "ask");
  const auto result = e.try_invoke(g.compile(), numbers{});
  BOOST_TEST_REQUIRE(result.error.has_value());
  BOOST_CHECK_THROW(std::rethrow_exception(result.error->cause), ss::node_timeout_error);
  caf::anon_send_exit(handle, caf::exit_reason::kill);
}

BOOST_AUTO_TEST_SUITE_END()

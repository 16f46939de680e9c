// SPDX-License-Identifier: Apache-2.0
// Graphs as CAF actors: requests, errors, streams, exits, monitors.
#include "peers.hpp"

#include <superstep/actors/caf.hpp>
#include <superstep/interop/graph_actor.hpp>
#include <superstep/runtime/json_graph.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <variant>

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(testing::numbers)

using namespace testing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(graph_actor)

namespace {

using call = ss::graph_call<numbers>;
using result = ss::run_result<numbers>;

ss::compiled_graph<numbers> counting(int steps) {
  auto g = ss::graph<numbers>{};
  g.add("count", [](const numbers& s) { return ss::update{ss::set<&numbers::n>(s.n + 1)}; });
  g.edge(ss::start, "count").branch("count", [steps](const numbers& s) -> ss::destination {
    return s.n < steps ? ss::destination{"count"} : ss::destination{ss::end};
  });
  return g.compile();
}

ss::compiled_graph<numbers> never_ends() {
  auto g = ss::graph<numbers>{};
  g.add("wait", [](const numbers&) -> ss::task<void> { co_await ss::sleep_for(1h); });
  g.edge(ss::start, "wait");
  return g.compile();
}

/// Waits for the answer to a request and returns it or the error.
template <class Answer, class... Args>
std::variant<Answer, caf::error> ask(caf::actor_system& system, const caf::actor& target,
                                     Args... args) {
  auto self = caf::scoped_actor{system};
  auto out = std::variant<Answer, caf::error>{};
  self->request(target, 60s, std::move(args)...)
      .receive([&](Answer& answer) { out = std::move(answer); },
               [&](const caf::error& e) { out = e; });
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(graph_call_is_answered_with_result) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 2}};
  const auto graph = ss::spawn_graph(system, e, counting(5));
  const auto got = ask<result>(system, graph, call{numbers{.n = 2}});
  BOOST_TEST_REQUIRE(got.index() == 0U);
  BOOST_TEST(std::get<0>(got).state.n == 5);
  BOOST_TEST(std::get<0>(got).stats.steps == 3U);
}

BOOST_AUTO_TEST_CASE(state_is_answered_with_last_state) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 2}};
  const auto graph = ss::spawn_graph(system, e, counting(5));
  const auto got = ask<numbers>(system, graph, numbers{.n = 1});
  BOOST_TEST_REQUIRE(got.index() == 0U);
  BOOST_TEST(std::get<0>(got).n == 5);
}

BOOST_AUTO_TEST_CASE(json_graph_takes_and_returns_text) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::json_graph{};
  g.channel("n", ss::json_reducer::add, 0).add("twice", [](const ss::json::value& state) {
    return state;
  });
  g.edge("__start__", "twice");
  const auto graph = ss::spawn_graph(system, e, g.compile());
  const auto got = ask<std::string>(system, graph, std::string{R"({"n":21})"});
  BOOST_TEST_REQUIRE(got.index() == 0U);
  BOOST_TEST(std::get<0>(got) == R"({"n":42})");
  const auto refused = ask<std::string>(system, graph, std::string{"[1]"});
  BOOST_TEST_REQUIRE(refused.index() == 1U);
  BOOST_TEST(ss::text_of(std::get<1>(refused)).find("JSON object") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(text_for_json_graph_is_read_as_other_json) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::json_graph{};
  g.channel("v").add("same", [](const ss::json::value& state) { return state; });
  g.edge("__start__", "same");
  const auto graph = ss::spawn_graph(system, e, g.compile());
  const auto sent = [&](const std::string& text) { return ask<std::string>(system, graph, text); };
  const auto deep = R"({"v":)" + std::string(100, '[') + "1.0" + std::string(100, ']') + '}';
  const auto got = sent(deep);
  BOOST_TEST_REQUIRE(got.index() == 0U);
  BOOST_TEST(std::get<0>(got) == deep);
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {R"({"v":1,"v":2})", "appears twice"},
           {R"({"v":123456789012345678901234567890})", "out of range"},
           {R"({"v":1)", "byte 6"},
           {"[1]", "got [1]"}}) {
    const auto refused = sent(text);
    BOOST_TEST_REQUIRE(refused.index() == 1U);
    const auto why = ss::text_of(std::get<1>(refused));
    BOOST_TEST(why.find(reason) != std::string::npos, why);
  }
}

BOOST_AUTO_TEST_CASE(failed_run_is_answered_with_error) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add("fail", [](const numbers&) { throw std::runtime_error{"no luck"}; });
  g.edge(ss::start, "fail");
  const auto graph = ss::spawn_graph(system, e, g.compile());
  const auto got = ask<result>(system, graph, call{numbers{}});
  BOOST_TEST_REQUIRE(got.index() == 1U);
  const auto& error = std::get<1>(got);
  BOOST_TEST((error == ss::graph_errc::node_failed));
  BOOST_TEST(ss::text_of(error).find("no luck") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(interrupted_run_is_a_result_of_graph_call_only) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add("ask", [](const numbers&, ss::runtime rt) -> ss::task<void> {
    static_cast<void>(co_await rt.interrupt("go?"));
  });
  g.edge(ss::start, "ask");
  const auto graph = ss::spawn_graph(system, e, g.compile());
  const auto got = ask<result>(system, graph, call{numbers{}});
  BOOST_TEST_REQUIRE(got.index() == 0U);
  BOOST_TEST(std::get<0>(got).interrupts.size() == 1U);
  const auto plain = ask<numbers>(system, graph, numbers{});
  BOOST_TEST_REQUIRE(plain.index() == 1U);
  BOOST_TEST((std::get<1>(plain) == ss::actor_errc::interrupted));
}

BOOST_AUTO_TEST_CASE(invalid_input_is_answered_with_error) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  const auto graph = ss::spawn_graph(system, e, counting(2));
  auto limits = ss::run_config{};
  limits.recursion_limit = 0;
  const auto got = ask<result>(system, graph, call{numbers{}, limits});
  BOOST_TEST_REQUIRE(got.index() == 1U);
}

namespace {

/// A value whose copy throws while `throws` is set.
struct fragile {
  static inline std::atomic<bool> throws{false};
  int n = 0;
  fragile() = default;
  fragile(const fragile& other) : n{other.n} { check(); }
  fragile(fragile&&) = default;
  fragile& operator=(const fragile& other) {
    check();
    n = other.n;
    return *this;
  }
  fragile& operator=(fragile&&) = default;
  ~fragile() = default;

private:
  static void check() {
    if (throws)
      throw std::runtime_error{"cannot be copied"};
  }
};

struct fragile_state {
  fragile value;
  int n = 0;
};
BOOST_DESCRIBE_STRUCT(fragile_state, (), (value, n))

} // namespace

BOOST_AUTO_TEST_CASE(input_that_cannot_be_copied_fails_its_request) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<fragile_state>{};
  auto started = std::promise<void>{};
  auto gate = std::promise<void>{};
  g.add("wait", [&](const fragile_state& s) {
    if (s.n == 1) {
      started.set_value();
      gate.get_future().wait();
    }
    return ss::update{ss::set<&fragile_state::n>(s.n + 1)};
  });
  g.edge(ss::start, "wait");
  const auto graph = ss::spawn_graph(system, e, g.compile());
  using fragile_result = ss::run_result<fragile_state>;
  auto self = caf::scoped_actor{system};
  auto first = self->request(graph, 60s, ss::graph_call<fragile_state>{fragile_state{{}, 1}});
  started.get_future().wait();
  auto broken = ss::graph_call<fragile_state>{fragile_state{}};
  fragile::throws = true;
  const auto got = ask<fragile_result>(system, graph, std::move(broken));
  fragile::throws = false;
  BOOST_TEST_REQUIRE(got.index() == 1U);
  BOOST_TEST((std::get<1>(got) == ss::graph_errc::user_code_failed));
  BOOST_TEST(ss::text_of(std::get<1>(got)).find("cannot be copied") != std::string::npos);
  gate.set_value();
  auto last = 0;
  first.receive([&](const fragile_result& r) { last = r.state.n; },
                [](const caf::error& why) { BOOST_ERROR(ss::text_of(why)); });
  BOOST_TEST(last == 2);
}

BOOST_AUTO_TEST_CASE(events_arrive_in_order_before_result) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 2}};
  const auto graph = ss::spawn_graph(system, e, counting(50));
  auto seen = std::vector<int>{};
  auto last = std::promise<int>{};
  const auto reader = system.spawn([&](caf::event_based_actor* self) -> caf::behavior {
    auto limits = ss::run_config{};
    limits.recursion_limit = 100;
    auto start = call{numbers{}, limits};
    start.stream_to(caf::actor_cast<caf::actor>(self), ss::stream_mode::values, 4);
    self->request(graph, caf::infinite, start).then([&](const result& r) {
      last.set_value(r.state.n);
    });
    return {[&](const ss::values_event<numbers>& event) { seen.push_back(event.state->n); }};
  });
  BOOST_TEST(last.get_future().get() == 50);
  BOOST_TEST(seen.size() == 51U);
  BOOST_TEST(std::is_sorted(seen.begin(), seen.end()));
}

BOOST_AUTO_TEST_CASE(run_pauses_for_slow_reader) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto steps = std::atomic<int>{0};
  auto g = ss::graph<numbers>{};
  g.add("count", [&](const numbers& s) {
    ++steps;
    return ss::update{ss::set<&numbers::n>(s.n + 1)};
  });
  g.edge(ss::start, "count").branch("count", [](const numbers& s) -> ss::destination {
    return s.n < 40 ? ss::destination{"count"} : ss::destination{ss::end};
  });
  const auto graph = ss::spawn_graph(system, e, g.compile());
  auto ahead_max = std::atomic<int>{0};
  auto last = std::promise<int>{};
  const auto reader = system.spawn([&](caf::event_based_actor* self) -> caf::behavior {
    auto limits = ss::run_config{};
    limits.recursion_limit = 100;
    auto start = call{numbers{}, limits};
    start.stream_to(caf::actor_cast<caf::actor>(self), ss::stream_mode::values, 4);
    self->request(graph, caf::infinite, start).then([&](const result& r) {
      last.set_value(r.state.n);
    });
    return {[&](const ss::values_event<numbers>& event) {
      std::this_thread::sleep_for(2ms);
      ahead_max = std::max(ahead_max.load(), steps - event.state->n);
    }};
  });
  BOOST_TEST(last.get_future().get() == 40);
  BOOST_TEST(ahead_max <= 6);
}

BOOST_AUTO_TEST_CASE(run_continues_when_reader_ends) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  const auto graph = ss::spawn_graph(system, e, counting(40));
  const auto reader = system.spawn([](caf::event_based_actor* self) -> caf::behavior {
    return {[self](const ss::values_event<numbers>&) { self->quit(); }};
  });
  auto limits = ss::run_config{};
  limits.recursion_limit = 100;
  auto start = call{numbers{}, limits};
  start.stream_to(reader, ss::stream_mode::values, 2);
  const auto got = ask<result>(system, graph, start);
  BOOST_TEST_REQUIRE(got.index() == 0U);
  BOOST_TEST(std::get<0>(got).state.n == 40);
}

BOOST_AUTO_TEST_CASE(run_continues_if_reader_answers_events_twice) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  const auto graph = ss::spawn_graph(system, e, counting(40));
  const auto reader = system.spawn([](caf::event_based_actor* self) -> caf::behavior {
    return {[self](const ss::values_event<numbers>&) -> caf::result<void> {
      auto first = self->make_response_promise();
      auto second = first;
      first.deliver(caf::make_message());
      second.deliver(caf::make_message());
      return caf::delegated<void>{};
    }};
  });
  auto limits = ss::run_config{};
  limits.recursion_limit = 100;
  auto start = call{numbers{}, limits};
  start.stream_to(reader, ss::stream_mode::values, 2);
  const auto got = ask<result>(system, graph, start);
  BOOST_TEST_REQUIRE(got.index() == 0U);
  BOOST_TEST(std::get<0>(got).state.n == 40);
}

BOOST_AUTO_TEST_CASE(actor_system_of_the_engine_is_rejected) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  auto text = std::string{};
  g.add("spawn", [&](const numbers&, ss::runtime rt) {
    try {
      std::ignore = ss::spawn_graph(ss::self(rt).home_system(), e, counting(1));
    } catch (const std::invalid_argument& refused) {
      text = refused.what();
    }
  });
  g.edge(ss::start, "spawn");
  std::ignore = e.invoke(g.compile(), numbers{});
  BOOST_TEST(text.find("pass an actor system of the program") != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(exit_cancels_runs_and_notifies_monitors) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  const auto graph = ss::spawn_graph(system, e, never_ends());
  auto self = caf::scoped_actor{system};
  self->monitor(graph);
  auto asking =
      std::async(std::launch::async, [&] { return ask<result>(system, graph, call{numbers{}}); });
  while (e.debug().live_runs() == 0)
    std::this_thread::sleep_for(1ms);
  self->send_exit(graph, caf::exit_reason::kill);
  self->receive(
      [&](const caf::down_msg& down) { BOOST_TEST((down.reason == caf::exit_reason::kill)); });
  const auto got = asking.get();
  BOOST_TEST_REQUIRE(got.index() == 1U);
  BOOST_TEST((std::get<1>(got) == ss::graph_errc::actor_exited));
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (e.debug().live_runs() > 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(1ms);
  BOOST_TEST(e.debug().live_runs() == 0U);
}

BOOST_AUTO_TEST_CASE(linked_actor_ends_with_graph) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  const auto graph = ss::spawn_graph(system, e, never_ends());
  const auto child = system.spawn([graph](caf::event_based_actor* self) -> caf::behavior {
    self->link_to(graph);
    return {[](int n) { return n; }};
  });
  BOOST_TEST((ask<int>(system, child, 1).index() == 0U));
  auto self = caf::scoped_actor{system};
  self->monitor(child);
  self->send_exit(graph, caf::exit_reason::kill);
  self->receive(
      [&](const caf::down_msg& down) { BOOST_TEST((down.reason == caf::exit_reason::kill)); });
}

BOOST_AUTO_TEST_CASE(engine_ends_its_graph_actors) {
  auto system = peer_system{};
  auto self = caf::scoped_actor{system};
  auto graph = caf::actor{};
  auto asking = std::future<std::variant<result, caf::error>>{};
  {
    auto e = ss::engine{{.workers = 1}};
    graph = ss::spawn_graph(system, e, never_ends());
    self->monitor(graph);
    asking =
        std::async(std::launch::async, [&] { return ask<result>(system, graph, call{numbers{}}); });
    while (e.debug().live_runs() == 0)
      std::this_thread::sleep_for(1ms);
  }
  self->receive([&](const caf::down_msg& down) {
    BOOST_TEST((down.reason == caf::exit_reason::user_shutdown));
  });
  BOOST_TEST(asking.get().index() == 1U);
  BOOST_TEST((ask<result>(system, graph, call{numbers{}}).index() == 1U));
}

// Writes, exits of runs and exits of graphs at any moment.
BOOST_AUTO_TEST_CASE(every_request_of_a_storm_is_answered_once) {
  constexpr auto requests = 50;
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 2}};
  const auto writer = system.spawn([](caf::event_based_actor*) -> caf::behavior {
    auto turn = std::make_shared<int>(0);
    return {[turn](const caf::actor& run) {
      if (++*turn % 5 == 0) {
        caf::anon_send_exit(run, caf::exit_reason::kill);
        return;
      }
      caf::anon_send(run, ss::write_of<&numbers::total>(1));
      if (*turn % 3 == 0) // may arrive after the end of the run
        caf::anon_send(run, ss::write_of<&numbers::total>(1));
    }};
  });
  auto g = ss::graph<numbers>{};
  g.add("wait", [writer](const numbers&, ss::runtime rt) -> ss::task<void> {
    caf::anon_send(writer, ss::coordinator(rt));
    auto waiting = ss::next_write<int>(rt, "total");
    static_cast<void>(co_await waiting);
  });
  g.edge(ss::start, "wait");
  const auto compiled = g.compile();
  for (auto round = 0; round < 20; ++round) {
    const auto graph = ss::spawn_graph(system, e, compiled);
    struct tally {
      std::atomic<int> answers{0};
      std::atomic<int> good{0};
      std::promise<void> all{};
    };
    const auto counted = std::make_shared<tally>();
    auto ended = counted->all.get_future();
    const auto client = system.spawn([counted, graph](caf::event_based_actor* self) {
      const auto count = [counted] {
        if (++counted->answers == requests)
          counted->all.set_value();
      };
      for (auto i = 0; i < requests; ++i)
        self->request(graph, caf::infinite, call{numbers{}})
            .then(
                [counted, count](const result& r) {
                  counted->good += r.state.total > 0 ? 1 : 0;
                  count();
                },
                [count](const caf::error&) { count(); });
    });
    if (round % 2 == 1)
      caf::anon_send_exit(graph, caf::exit_reason::kill);
    ended.get();
    if (round % 2 == 0)
      BOOST_TEST(counted->good >= requests / 2);
    BOOST_TEST(counted->answers == requests);
  }
  caf::anon_send_exit(writer, caf::exit_reason::user_shutdown);
}

BOOST_AUTO_TEST_CASE(nested_run_continues_when_reader_of_events_catches_up) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto may_end = std::atomic<bool>{false};
  auto events = std::atomic<int>{0};
  constexpr auto open_max = 8;
  auto filling = ss::graph<numbers>{};
  filling.add("fill", [](const numbers&, ss::runtime rt) -> ss::task<void> {
    for (auto i = 0; i < open_max; ++i)
      rt.emit(i);
    co_return;
  });
  filling.add("last", [](const numbers&) {});
  filling.edge(ss::start, "fill").edge("fill", "last");
  auto waiting = ss::graph<numbers>{};
  waiting.add("wait", [&](const numbers&) -> ss::task<void> {
    while (!may_end)
      co_await ss::sleep_for(1ms);
  });
  waiting.add("last", [](const numbers&) {});
  waiting.edge(ss::start, "wait").edge("wait", "last");
  auto g = ss::graph<numbers>{};
  const auto input = [](const numbers& s) { return s; };
  const auto output = [](const numbers&) { return ss::update<numbers>{}; };
  g.add("filling", filling.compile(), input, output);
  g.add("waiting", waiting.compile(), input, output);
  g.edge(ss::start, "filling").edge(ss::start, "waiting");
  auto answers = std::vector<caf::response_promise>{};
  auto answers_at_once = false;
  const auto reader = system.spawn([&](caf::event_based_actor* self) -> caf::behavior {
    return {[&, self](const ss::custom_event&) -> caf::response_promise {
              ++events;
              auto answer = self->make_response_promise();
              if (answers_at_once)
                answer.deliver(1);
              else
                answers.push_back(answer);
              return answer;
            },
            [&](int count) { // answers some of the events; 0: these and all later ones
              answers_at_once = count == 0;
              for (; !answers.empty() && (answers_at_once || count > 0); --count) {
                answers.back().deliver(1);
                answers.pop_back();
              }
            }};
  });
  auto config = ss::run_config{};
  config.deadline = 20s;
  auto begin = call{numbers{}, config};
  begin.stream_to(reader, ss::stream_mode::custom | ss::stream_mode::subgraphs, open_max);
  const auto graph = ss::spawn_graph(system, e, g.compile());
  auto got = std::variant<result, caf::error>{};
  auto asking = std::jthread{[&] { got = ask<result>(system, graph, begin); }};
  while (events < open_max)
    std::this_thread::yield();
  std::this_thread::sleep_for(20ms); // the filling run pauses
  caf::anon_send(reader, 3);         // fewer than open_max are open, and more than half
  std::this_thread::sleep_for(20ms);
  may_end = true; // the waiting run asks whether there is room
  std::this_thread::sleep_for(20ms);
  caf::anon_send(reader, 0);
  asking.join();
  BOOST_TEST_REQUIRE(got.index() == 0U);
  BOOST_TEST(!std::get<0>(got).error.has_value());
}

BOOST_AUTO_TEST_SUITE_END()

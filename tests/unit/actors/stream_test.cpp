// SPDX-License-Identifier: Apache-2.0
// Streams of a run: modes, order of events, slow readers, errors, and cancellation by the reader.
#include "actors/engine_access.hpp"
#include "graphs.hpp"

#include <superstep/base/await.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <variant>

using namespace testing;

BOOST_AUTO_TEST_SUITE(streams)

namespace {

using ss::detail::engine_access;

std::vector<ss::detail::run_event> all_of(ss::detail::event_stream stream) {
  auto events = std::vector<ss::detail::run_event>{};
  while (auto event = stream.next())
    events.push_back(std::move(*event));
  return events;
}

const numbers& state_of(const ss::detail::run_event& e) {
  return static_cast<const ss::struct_block<numbers>&>(*e.state).state;
}

ss::task<int> count_all(ss::detail::event_stream& stream) {
  for (auto count = 0;; ++count) {
    auto receiving = stream.receive();
    const auto event = co_await receiving;
    if (!event)
      co_return count;
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(values_events_follow_input_and_each_step) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).add(b, add_one).edge(ss::start, a).edge(a, b);
  const auto events =
      all_of(engine_access::stream(e, g.compile(), numbers{}, ss::stream_mode::values));
  BOOST_TEST_REQUIRE(events.size() == 3U);
  for (auto i = 0; i < 3; ++i) {
    const auto& event = events[static_cast<std::size_t>(i)];
    BOOST_TEST(event.step == i);
    BOOST_TEST(state_of(event).n == i);
  }
}

BOOST_AUTO_TEST_CASE(updates_stream_contains_writes_of_each_task) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(worker, [](const int& i) { return ss::update{ss::set<&numbers::total>(i)}; });
  g.branch(ss::start, fan_out);
  const auto events = all_of(engine_access::stream(
      e, g.compile(), numbers{.n = 3, .total = 0, .seen = {}}, ss::stream_mode::updates));
  BOOST_TEST_REQUIRE(events.size() == 3U);
  for (auto i = 0; i < 3; ++i) {
    const auto& event = events[static_cast<std::size_t>(i)];
    BOOST_TEST(event.node == "worker");
    BOOST_TEST_REQUIRE(event.writes.size() == 1U);
    BOOST_TEST(event.writes[0].content.as<int>() == i);
  }
}

BOOST_AUTO_TEST_CASE(event_emitted_by_body_reaches_custom_stream) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, [](const numbers&, const ss::runtime& rt) { rt.emit("half way"); }).edge(ss::start, a);
  const auto events =
      all_of(engine_access::stream(e, g.compile(), numbers{}, ss::stream_mode::custom));
  BOOST_TEST_REQUIRE(events.size() == 1U);
  BOOST_TEST(events[0].data.as_string() == "half way");
  BOOST_TEST(events[0].node == "a");
}

BOOST_AUTO_TEST_CASE(debug_stream_reports_steps_barriers_and_end) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).add(b, add_one).edge(ss::start, a).edge(a, b);
  auto text = std::string{};
  for (const auto& event :
       all_of(engine_access::stream(e, g.compile(), numbers{}, ss::stream_mode::debug)))
    text += std::to_string(event.step) + ' ' + ss::json::serialize(event.data) + '\n';
  BOOST_TEST(text ==
             "0 {\"event\":\"barrier\",\"answered\":1,\"in_flight\":0}\n"
             "1 {\"event\":\"step\",\"activated\":[\"a\"],\"halted\":[\"b\"],\"in_flight\":0}\n"
             "1 {\"event\":\"barrier\",\"answered\":1,\"in_flight\":0}\n"
             "2 {\"event\":\"step\",\"activated\":[\"b\"],\"halted\":[\"a\"],\"in_flight\":0}\n"
             "2 {\"event\":\"barrier\",\"answered\":1,\"in_flight\":0}\n"
             "3 {\"event\":\"end\",\"activated\":[],\"halted\":[\"a\",\"b\"],\"in_flight\":0}\n");
}

BOOST_AUTO_TEST_CASE(slow_reader_pauses_run) {
  auto e = ss::engine{{.workers = 1}};
  auto steps = std::atomic<int>{0};
  auto g = ss::graph<numbers>{};
  g.add(a, [&steps](const numbers& s) {
    ++steps;
    return add_one(s);
  });
  g.edge(ss::start, a).branch(a, [](const numbers& s) {
    return s.n < 500 ? ss::destination{a} : ss::destination{ss::end};
  });
  auto config = ss::run_config{};
  config.recursion_limit = 1'000;
  auto stream =
      engine_access::stream(e, g.compile(), numbers{}, ss::stream_mode::values, config, 10);
  auto read = 0;
  while (stream.next()) {
    ++read;
    BOOST_TEST_REQUIRE(steps.load() <= read + 12);
  }
  BOOST_TEST(read == 501);
  BOOST_TEST(!stream.result().error.has_value());
}

BOOST_AUTO_TEST_CASE(stream_with_buffer_for_no_event_still_has_all_events) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).add(b, add_one).edge(ss::start, a).edge(a, b);
  const auto events =
      all_of(engine_access::stream(e, g.compile(), numbers{}, ss::stream_mode::updates, {}, 0));
  BOOST_TEST(events.size() == 2U);
}

BOOST_AUTO_TEST_CASE(step_timeout_does_not_include_the_wait_for_the_reader) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).edge(ss::start, a).branch(a, [](const numbers& s) {
    return s.n < 4 ? ss::destination{a} : ss::destination{ss::end};
  });
  constexpr auto limit = std::chrono::milliseconds{200};
  auto stream = engine_access::stream(e, g.compile({.step_timeout = limit}), numbers{},
                                      ss::stream_mode::values, {}, 1);
  auto read = 0;
  while (stream.next()) {
    ++read;
    std::this_thread::sleep_for(1.5 * limit);
  }
  BOOST_TEST(read == 5);
  BOOST_TEST(!stream.result().error.has_value());
}

BOOST_AUTO_TEST_CASE(update_of_retried_task_is_sent_although_sibling_is_interrupted) {
  auto e = ss::engine{{.workers = 1}};
  auto policy = ss::retry_policy{};
  policy.initial_interval = std::chrono::milliseconds{1};
  policy.retry_on = [](const std::exception_ptr&) { return true; };
  auto retried = ss::node_options{};
  retried.retry = {policy};
  auto g = ss::graph<numbers>{};
  g.add(
      a,
      [](const numbers& s, const ss::runtime& rt) {
        if (rt.attempt() == 1)
          throw std::runtime_error{"not yet"};
        return add_one(s);
      },
      retried);
  g.add(b, [](const numbers&, ss::runtime rt) -> ss::task<ss::update<numbers>> {
    static_cast<void>(co_await rt.interrupt("continue?"));
    co_return ss::update{ss::set<&numbers::total>(1)};
  });
  g.edge(ss::start, a).edge(ss::start, b);
  const auto events =
      all_of(engine_access::stream(e, g.compile(), numbers{}, ss::stream_mode::updates));
  BOOST_TEST(std::ranges::count(events, "a", &ss::detail::run_event::node) == 1);
}

BOOST_AUTO_TEST_CASE(coroutine_reads_stream_without_blocking_a_thread) {
  auto e = ss::engine{{.workers = 1}}; // both runs are on its one lane
  auto below = ss::graph<numbers>{};
  below.add(a, add_one).add(b, add_one).edge(ss::start, a).edge(a, b);
  const auto watched = below.compile();
  auto g = ss::graph<numbers>{};
  g.add(a, [&](const numbers&) -> ss::task<ss::update<numbers>> {
    auto stream = engine_access::stream(e, watched, numbers{}, ss::stream_mode::updates, {}, 1);
    auto counting = count_all(stream);
    const auto count = co_await counting;
    co_return ss::update{ss::set<&numbers::n>(count)};
  });
  g.edge(ss::start, a);
  const auto graph = g.compile();
  for (auto i = 0; i < 100; ++i)
    BOOST_TEST_REQUIRE(e.invoke(graph, numbers{}).state.n == 2);
}

BOOST_AUTO_TEST_CASE(coroutine_reader_receives_error_of_run) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, [](const numbers&) { throw std::runtime_error{"a broke"}; }).edge(ss::start, a);
  auto stream = engine_access::stream(e, g.compile(), numbers{}, ss::stream_mode::updates);
  BOOST_CHECK_THROW(static_cast<void>(ss::sync_wait(count_all(stream))), ss::graph_error);
}

BOOST_AUTO_TEST_CASE(stream_of_failed_run_throws_after_last_event) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).add(b, [](const numbers&) { throw std::runtime_error{"b broke"}; });
  g.edge(ss::start, a).edge(a, b);
  auto stream = engine_access::stream(e, g.compile(), numbers{}, ss::stream_mode::updates);
  BOOST_TEST(stream.next()->node == "a");
  BOOST_CHECK_THROW(static_cast<void>(stream.next()), ss::graph_error);
}

BOOST_AUTO_TEST_CASE(destroyed_stream_cancels_its_run) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).edge(ss::start, a).edge(a, a);
  auto config = ss::run_config{};
  config.recursion_limit = 1'000'000'000;
  {
    auto stream =
        engine_access::stream(e, g.compile(), numbers{}, ss::stream_mode::values, config, 4);
    BOOST_TEST(stream.next().has_value());
  }
  while (e.debug().live_runs() != 0)
    std::this_thread::yield();
}

BOOST_AUTO_TEST_CASE(events_after_end_of_reader_are_dropped) {
  auto e = ss::engine{{.workers = 1}};
  auto has_events = std::atomic<bool>{false};
  auto is_abandoned = std::atomic<bool>{false};
  auto g = ss::graph<numbers>{};
  const auto content = std::make_shared<const int>(1);
  // a blocking body, which does not notice that its run is cancelled
  g.add(a, [&](const numbers&, ss::runtime rt) {
    rt.emit_message(ss::value{content});
    has_events = true;
    while (!is_abandoned)
      std::this_thread::yield();
    for (auto i = 0; i < 10; ++i)
      rt.emit_message(ss::value{content});
  });
  g.edge(ss::start, a);
  {
    const auto stream = engine_access::stream(e, g.compile(), numbers{}, ss::stream_mode::messages);
    while (!has_events)
      std::this_thread::yield();
    BOOST_TEST(content.use_count() == 2);
  }
  BOOST_TEST(content.use_count() == 1); // the unread event
  is_abandoned = true;
  while (e.debug().live_runs() != 0)
    std::this_thread::yield();
  BOOST_TEST(content.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(end_events_of_interrupted_sends_have_their_index) {
  constexpr auto ask = ss::node<int>{"ask"};
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(ask, [](const int& n, ss::runtime rt) -> ss::task<void> {
    auto asking = rt.interrupt(ss::json::value(n));
    co_await asking;
  });
  g.branch(ss::start, [](const numbers&) {
    return ss::destinations{{ss::node<int>{"ask"}, 0}, {ss::node<int>{"ask"}, 1}};
  });
  auto config = ss::run_config{};
  config.thread_id = "1";
  const auto graph = g.compile({.checkpointer = ss::memory_checkpointer()});
  auto ends = 0;
  for (const auto& event : e.stream(graph, numbers{}, ss::stream_mode::tasks, config)) {
    const auto& told = std::get<ss::task_event>(event);
    if (!told.has_ended)
      continue;
    ++ends;
    BOOST_TEST_REQUIRE(told.interrupts.has_value());
    BOOST_TEST(told.interrupts->at(0).value == ss::json::value(told.task_index));
  }
  BOOST_TEST(ends == 2);
}

namespace {

std::atomic<bool> is_adding = false;
std::atomic<bool> may_add = false;

/// A reducer that blocks a lane until `may_add` is set.
struct blocking_sum {
  void operator()(int& into, int&& more) const {
    is_adding = true;
    while (!may_add)
      std::this_thread::yield();
    into += more;
  }
};

} // namespace

struct blocked_state {
  int n = 0;
  using reducers = ss::reducers<ss::by<&blocked_state::n, blocking_sum>>;
};
BOOST_DESCRIBE_STRUCT(blocked_state, (), (n))

BOOST_AUTO_TEST_CASE(range_ends_if_grace_period_of_engine_passes) {
  auto g = ss::graph<blocked_state>{};
  g.add("a", [](const blocked_state&) { return ss::update{ss::set<&blocked_state::n>(1)}; });
  g.edge(ss::start, "a");
  const auto graph = g.compile();
  may_add = false;
  auto range = std::optional<ss::event_range<blocked_state>>{};
  {
    auto e = ss::engine{{.workers = 1, .shutdown_grace = std::chrono::milliseconds{50}}};
    range.emplace(e.stream(graph, ss::update<blocked_state>{}, ss::stream_mode::values));
    while (!is_adding)
      std::this_thread::yield();
  }
  may_add = true;
  BOOST_CHECK_THROW(while (range->next()){}, ss::graph_error);
}

BOOST_AUTO_TEST_SUITE_END()

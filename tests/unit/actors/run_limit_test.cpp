// SPDX-License-Identifier: Apache-2.0
// Engines with a limit of live runs: submit() waits or refuses, and every run that ends makes room.
#include "late_checkpointer.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>

using namespace testing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(run_limit)

namespace {

ss::engine_options limited(std::size_t runs_max, ss::when_full on_full) {
  auto options = ss::engine_options{};
  options.workers = 2;
  options.runs_max = runs_max;
  options.on_full = on_full;
  return options;
}

/// A graph whose only node waits at a gate.
struct gated_graph {
  gate opened;
  ss::compiled_graph<numbers> graph = [this] {
    auto g = ss::graph<numbers>{};
    g.add(a, [this](const numbers&) -> ss::task<ss::update<numbers>> {
      auto passed = opened.pass();
      co_await passed;
      co_return ss::update{ss::set<&numbers::total>(1)};
    });
    g.edge(ss::start, a);
    return g.compile();
  }();
};

} // namespace

BOOST_AUTO_TEST_CASE(full_engine_refuses_with_error_through_callback) {
  auto gated = gated_graph{};
  auto ended = std::latch{2};
  auto failed = std::atomic<int>{0};
  auto e = ss::engine{limited(2, ss::when_full::refuse)};
  const auto count_down = [&](const ss::run_result<numbers>& r) {
    failed += r.error ? 1 : 0;
    ended.count_down();
  };
  e.submit(gated.graph, numbers{}, {}, count_down);
  e.submit(gated.graph, numbers{}, {}, count_down);
  auto refused = std::optional<std::error_code>{};
  e.submit(gated.graph, numbers{}, {},
           [&](const ss::run_result<numbers>& r) { refused = r.error->code; });
  BOOST_REQUIRE(refused.has_value());
  BOOST_TEST(*refused == make_error_code(ss::graph_errc::engine_full));
  const auto tried = e.try_invoke(gated.graph, numbers{});
  BOOST_TEST(tried.error->code == make_error_code(ss::graph_errc::engine_full));
  gated.opened.open();
  ended.wait();
  BOOST_TEST(failed.load() == 0);
  BOOST_TEST(e.invoke(gated.graph, numbers{}).state.total == 1);
}

BOOST_AUTO_TEST_CASE(refused_stream_reports_error_to_reader) {
  auto gated = gated_graph{};
  auto e = ss::engine{limited(1, ss::when_full::refuse)};
  auto first = background_run<numbers>{e, gated.graph, numbers{}};
  auto stream = e.stream(gated.graph, numbers{});
  BOOST_CHECK_EXCEPTION(stream.next(), ss::graph_error, [](const ss::graph_error& thrown) {
    return thrown.code() == make_error_code(ss::graph_errc::engine_full);
  });
  gated.opened.open();
  BOOST_TEST(first.result().state.total == 1);
}

BOOST_AUTO_TEST_CASE(submit_waits_until_a_run_ends) {
  auto live = std::atomic<int>{0};
  auto most = std::atomic<int>{0};
  auto g = ss::graph<numbers>{};
  g.add(a, [&](const numbers&) -> ss::task<void> {
    const auto now = ++live;
    for (auto seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);)
      continue;
    auto nap = ss::sleep_for{1ms};
    co_await nap;
    --live;
  });
  g.edge(ss::start, a);
  const auto graph = g.compile();
  auto ended = std::latch{200};
  auto e = ss::engine{limited(3, ss::when_full::wait)};
  const auto submit_many = [&] {
    for (auto i = 0; i < 100; ++i)
      e.submit(graph, numbers{}, {}, [&](const ss::run_result<numbers>&) { ended.count_down(); });
  };
  auto other = std::jthread{submit_many};
  submit_many();
  ended.wait();
  BOOST_TEST(most.load() <= 3);
}

BOOST_AUTO_TEST_CASE(callback_starts_a_run_although_the_engine_is_full) {
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).edge(ss::start, a);
  const auto graph = g.compile();
  auto left = std::atomic<int>{1'000};
  auto ended = std::latch{1};
  auto failed = std::atomic<int>{0};
  auto e = ss::engine{limited(1, ss::when_full::wait)};
  auto next = std::function<void(const ss::run_result<numbers>&)>{};
  next = [&](const ss::run_result<numbers>& r) {
    failed += r.error ? 1 : 0;
    if (--left == 0)
      ended.count_down();
    else
      e.submit(graph, numbers{}, {}, next);
  };
  e.submit(graph, numbers{}, {}, next);
  ended.wait();
  BOOST_TEST(left.load() == 0);
  BOOST_TEST(failed.load() == 0);
}

BOOST_AUTO_TEST_CASE(callback_on_checkpointer_thread_never_waits_for_room) {
  const auto checkpointer = std::make_shared<late_checkpointer>();
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).edge(ss::start, a);
  auto options = ss::compile_options{};
  options.checkpointer = checkpointer;
  const auto graph = g.compile(options);
  auto e = std::make_unique<ss::engine>(limited(1, ss::when_full::wait));
  auto ended = std::atomic<int>{0};
  const auto submit = [&, &to = *e](const char* thread,
                                    std::function<void(ss::run_result<numbers>)> done) {
    auto config = ss::run_config{};
    config.thread_id = thread;
    to.submit(graph, numbers{}, config, std::move(done));
  };
  submit("1", [&](const ss::run_result<numbers>&) {
    submit("2", [&](const ss::run_result<numbers>&) { ++ended; });
    submit("3", [&](const ss::run_result<numbers>&) { ++ended; }); // above the limit
    ++ended;
  });
  checkpointer->await_waiting(1);
  auto returned = std::promise<void>{};
  auto has_returned = returned.get_future();
  const auto writer = std::jthread{[&] {
    checkpointer->save();
    returned.set_value();
  }};
  BOOST_TEST((has_returned.wait_for(20s) == std::future_status::ready));
  checkpointer->save_at_once();
  checkpointer->save();
  e.reset(); // waits for the callbacks, and ends a wait for room
  BOOST_TEST(ended.load() == 3);
}

BOOST_AUTO_TEST_CASE(body_that_starts_a_run_never_waits_for_room) {
  auto e = std::unique_ptr<ss::engine>{};
  const auto submitted = std::make_shared<std::promise<void>>();
  auto quick = ss::graph<numbers>{};
  quick.add(a, add_one).edge(ss::start, a);
  auto g = ss::graph<numbers>{};
  g.add(a, [&, submitted, next = quick.compile()](const numbers&) {
    e->submit(next, numbers{}, {}, [](const ss::run_result<numbers>&) {});
    submitted->set_value();
  });
  g.edge(ss::start, a);
  e = std::make_unique<ss::engine>(limited(1, ss::when_full::wait));
  e->submit(g.compile(), numbers{}, {}, [](const ss::run_result<numbers>&) {});
  BOOST_TEST((submitted->get_future().wait_for(20s) == std::future_status::ready));
}

BOOST_AUTO_TEST_CASE(shutdown_ends_waits_for_room) {
  auto gated = gated_graph{};
  auto e = std::make_unique<ss::engine>(limited(1, ss::when_full::wait));
  auto first = std::promise<bool>{};
  e->submit(gated.graph, numbers{}, {},
            [&](const ss::run_result<numbers>& r) { first.set_value(r.error.has_value()); });
  auto second = std::promise<std::error_code>{};
  auto waiting = std::jthread{[&, &to = *e] {
    to.submit(gated.graph, numbers{}, {}, [&](const ss::run_result<numbers>& r) {
      second.set_value(r.error ? std::error_code{r.error->code} : std::error_code{});
    });
  }};
  std::this_thread::sleep_for(20ms); // usually long enough for the thread to wait in submit()
  e.reset();
  BOOST_TEST(first.get_future().get());
  BOOST_TEST(second.get_future().get() == make_error_code(ss::graph_errc::cancelled));
}

BOOST_AUTO_TEST_CASE(limit_of_no_runs_is_rejected) {
  BOOST_CHECK_THROW(ss::engine{limited(0, ss::when_full::wait)}, std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

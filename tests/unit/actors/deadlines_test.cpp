// SPDX-License-Identifier: Apache-2.0
// runtime::deadline(): the earliest of the limits of run, step, attempt and enclosing calls.
#include "graphs.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <vector>

using namespace testing;
using namespace std::chrono_literals;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(deadlines)

namespace {

using std::chrono::steady_clock;
using length = std::optional<std::chrono::milliseconds>;

/// The limits around a body, and the one that is the earliest.
struct limits {
  const char* text;
  length run{};
  length step{};
  length attempt{};
  length expected{};
};
std::ostream& operator<<(std::ostream& out, const limits& l) {
  return out << l.text;
}

const auto combinations = std::vector<limits>{
    {"none"},
    {.text = "run", .run = 1h, .expected = 1h},
    {.text = "step", .step = 1h, .expected = 1h},
    {.text = "attempt", .attempt = 1h, .expected = 1h},
    {.text = "run first", .run = 1h, .step = 2h, .attempt = 3h, .expected = 1h},
    {.text = "step first", .run = 3h, .step = 1h, .attempt = 2h, .expected = 1h},
    {.text = "attempt first", .run = 2h, .step = 3h, .attempt = 1h, .expected = 1h},
    {.text = "no practical limit",
     .run = std::chrono::milliseconds::max(),
     .attempt = 1h,
     .expected = 1h},
};

/// The deadline that a body has read, and when.
struct seen {
  steady_clock::time_point start = steady_clock::now();
  steady_clock::time_point end;
  std::optional<steady_clock::time_point> deadline;
};

/// Whether the deadline is `expected` after some time between start and end.
bool is_after(const seen& s, length expected) {
  return expected
             ? s.deadline && *s.deadline >= s.start + *expected && *s.deadline <= s.end + *expected
             : !s.deadline;
}

auto watch(seen& into) {
  return [&into](const numbers& s, const ss::runtime& rt) {
    into.deadline = rt.deadline();
    into.end = steady_clock::now();
    return add_one(s);
  };
}

ss::node_options options_with(length attempt) {
  auto options = ss::node_options{};
  if (attempt)
    options.timeout = ss::timeout_policy{.run = attempt};
  return options;
}

} // namespace

BOOST_DATA_TEST_CASE(deadline_returns_earliest_of_run_step_and_attempt, data::make(combinations),
                     given) {
  auto e = ss::engine{{.workers = 1}};
  auto in_place = seen{};
  auto g = ss::graph<numbers>{};
  g.add(a, watch(in_place), options_with(given.attempt)).edge(ss::start, a);
  auto config = ss::run_config{};
  config.deadline = given.run;
  static_cast<void>(e.invoke(g.compile({.step_timeout = given.step}), numbers{}, config));
  BOOST_TEST(is_after(in_place, given.expected));
}

BOOST_DATA_TEST_CASE(deadline_in_nested_run_includes_limits_of_caller, data::make(combinations),
                     given) {
  auto e = ss::engine{{.workers = 1}};
  auto below = seen{};
  auto inner = ss::graph<numbers>{};
  inner.add(b, watch(below), options_with(5h)).edge(ss::start, b);
  const auto nested = inner.compile({.step_timeout = 4h});
  auto g = ss::graph<numbers>{};
  g.add(
      a,
      [nested](const numbers& s, ss::runtime rt) -> ss::task<ss::update<numbers>> {
        auto running = rt.invoke(nested, s);
        const auto out = co_await running;
        co_return ss::update{ss::set<&numbers::n>(out.n)};
      },
      options_with(given.attempt));
  g.edge(ss::start, a);
  auto config = ss::run_config{};
  config.deadline = given.run;
  static_cast<void>(e.invoke(g.compile({.step_timeout = given.step}), numbers{}, config));
  BOOST_TEST(is_after(below, given.expected ? given.expected : 4h));
}

BOOST_AUTO_TEST_CASE(each_attempt_has_its_own_deadline) {
  auto e = ss::engine{{.workers = 1}};
  auto all = std::vector<steady_clock::time_point>{};
  auto options = options_with(1h);
  auto again = ss::retry_policy{};
  again.initial_interval = 2ms;
  again.jitter = false;
  options.retry = {again};
  auto g = ss::graph<numbers>{};
  g.add(
      a,
      [&all](const numbers& s, const ss::runtime& rt) {
        all.push_back(rt.deadline().value());
        if (rt.attempt() == 1)
          throw std::runtime_error{"once"};
        return add_one(s);
      },
      options);
  g.edge(ss::start, a);
  static_cast<void>(e.invoke(g.compile(), numbers{}));
  BOOST_TEST_REQUIRE(all.size() == 2U);
  BOOST_TEST((all[1] >= all[0] + 2ms));
}

BOOST_AUTO_TEST_CASE(later_run_does_not_inherit_earlier_deadline) {
  auto e = ss::engine{{.workers = 1}};
  auto last = seen{};
  auto g = ss::graph<numbers>{};
  g.add(a, watch(last)).edge(ss::start, a);
  const auto graph = g.compile();
  auto config = ss::run_config{};
  config.deadline = 1h;
  static_cast<void>(e.invoke(graph, numbers{}, config));
  BOOST_TEST(last.deadline.has_value());
  static_cast<void>(e.invoke(graph, numbers{}));
  BOOST_TEST(!last.deadline.has_value());
}

BOOST_AUTO_TEST_CASE(timeout_of_send_sets_deadline_of_its_task) {
  auto e = ss::engine{{.workers = 1}};
  auto sent = seen{};
  auto g = ss::graph<numbers>{};
  g.add(worker, [&sent](const int& n, const ss::runtime& rt) {
    sent.deadline = rt.deadline();
    sent.end = steady_clock::now();
    return ss::update{ss::set<&numbers::n>(n)};
  });
  g.branch(ss::start, [](const numbers&) {
    auto to = ss::destinations{};
    to.push_back(ss::destination{worker, 1}.within(1h));
    return to;
  });
  static_cast<void>(e.invoke(g.compile(), numbers{}));
  BOOST_TEST(is_after(sent, 1h));
}

BOOST_AUTO_TEST_CASE(nested_run_ends_at_deadline_of_its_caller) {
  auto e = ss::engine{{.workers = 1}};
  const auto held = std::make_shared<int>(1);
  auto inner = ss::graph<numbers>{};
  inner.add(b, [held](const numbers&) -> ss::task<ss::update<numbers>> {
    const auto mine = held; // released with the frame
    auto nap = ss::sleep_for{1h};
    co_await nap;
    co_return ss::update{ss::set<&numbers::n>(*mine)};
  });
  inner.edge(ss::start, b);
  const auto nested = inner.compile({.step_timeout = 1h});
  const auto users = held.use_count();
  auto g = ss::graph<numbers>{};
  g.add(
      a,
      [nested](const numbers& s, ss::runtime rt) -> ss::task<ss::update<numbers>> {
        auto running = rt.invoke(nested, s);
        const auto out = co_await running;
        co_return ss::update{ss::set<&numbers::n>(out.n)};
      },
      options_with(20ms));
  g.edge(ss::start, a);
  BOOST_CHECK_EXCEPTION(
      static_cast<void>(e.invoke(g.compile(), numbers{})), ss::graph_error, [](const auto& error) {
        return error.code() == ss::graph_errc::node_timeout && error.node() == "a";
      });
  // The nested run is cancelled by a message to the lane, after the caller has got its error.
  for (auto i = 0; i < 10'000 && held.use_count() > users; ++i)
    std::this_thread::sleep_for(1ms);
  BOOST_TEST(held.use_count() == users);
}

BOOST_AUTO_TEST_SUITE_END()

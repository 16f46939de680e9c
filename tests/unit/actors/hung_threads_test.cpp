// SPDX-License-Identifier: Apache-2.0
// Bodies that hang: their threads are replaced up to a limit, and the engine reports them.
#include "graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace testing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(hung_threads)

namespace {

/// Collects what is written to standard error. Read it when no thread writes any more.
class captured_errors {
public:
  captured_errors() : before_{std::cerr.rdbuf(text_.rdbuf())} {}
  captured_errors(const captured_errors&) = delete;
  captured_errors& operator=(const captured_errors&) = delete;
  ~captured_errors() { std::cerr.rdbuf(before_); }
  [[nodiscard]] std::vector<std::string> lines() const {
    auto all = std::vector<std::string>{};
    auto in = std::istringstream{text_.str()};
    for (auto line = std::string{}; std::getline(in, line);)
      all.push_back(line);
    return all;
  }

private:
  std::ostringstream text_;
  std::streambuf* before_;
};

ss::engine_options few_threads(std::size_t replaced_max) {
  auto options = ss::engine_options{};
  options.workers = 1;
  options.threads_max = 2;
  options.hung_after = 1ms;
  options.hung_threads_max = replaced_max;
  return options;
}

ss::compiled_graph<numbers> healthy() {
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).edge(ss::start, a);
  return g.compile();
}

ss::compiled_graph<numbers> hanging(door& at) {
  auto g = ss::graph<numbers>{};
  g.add(b, [&at](const numbers&) {
    at.pass();
    return ss::update{ss::set<&numbers::n>(1)};
  });
  g.edge(ss::start, b);
  return g.compile();
}

void await_hung(ss::engine& e, std::size_t count) {
  while (e.debug().hung_threads() < count)
    std::this_thread::yield();
}

} // namespace

BOOST_AUTO_TEST_CASE(threads_of_hung_bodies_are_replaced) {
  auto errors = captured_errors{};
  auto closed = door{};
  const auto graph = hanging(closed);
  const auto other = healthy();
  {
    auto e = ss::engine{few_threads(3)};
    auto runs = std::vector<std::unique_ptr<background_run<numbers>>>{};
    for (auto i = 1; i <= 4; ++i) { // twice as many as threads_max
      runs.push_back(std::make_unique<background_run<numbers>>(e, graph, numbers{}));
      closed.await_inside(i);
      BOOST_TEST(e.invoke(other, numbers{}).state.n == 1);
    }
    await_hung(e, 4);
    closed.open();
    for (const auto& each : runs)
      BOOST_TEST(!each->result().error);
    while (e.debug().hung_threads() > 0) // the next poll finds that they have returned
      BOOST_TEST(e.invoke(other, numbers{}).state.n == 1);
  }
  const auto lines = errors.lines();
  BOOST_REQUIRE(lines.size() == 2U); // the first hung body, and the limit
  for (const auto& line : lines)
    BOOST_TEST(line.find("hung_threads_max") != std::string::npos, line);
}

BOOST_AUTO_TEST_CASE(bodies_above_limit_wait_while_others_run) {
  auto errors = captured_errors{};
  auto closed = door{};
  const auto graph = hanging(closed);
  const auto other = healthy();
  {
    auto e = ss::engine{few_threads(1)};
    auto first = background_run{e, graph, numbers{}};
    closed.await_inside(1);
    auto second = background_run{e, graph, numbers{}};
    closed.await_inside(2);
    await_hung(e, 2);
    // the engine knows that the node is slow, so its lane keeps the last thread
    auto third = background_run{e, graph, numbers{}};
    const auto waiting = await_actor(e, third.handle, [](const ss::actor_info& info) {
      return info.kind == ss::actor_kind::node && info.state != ss::call_state::idle;
    });
    BOOST_TEST((waiting.state == ss::call_state::queued));
    for (auto i = 0; i < 10; ++i)
      BOOST_TEST(e.invoke(other, numbers{}).state.n == 1);
    BOOST_TEST(!third.has_ended());
    BOOST_TEST(e.debug().hung_threads() == 2U);
    closed.open();
    BOOST_TEST(!first.result().error);
    BOOST_TEST(!second.result().error);
    BOOST_TEST(!third.result().error);
  }
  const auto lines = errors.lines();
  BOOST_REQUIRE(lines.size() == 1U);
  BOOST_TEST(lines[0].find("not replaced") != std::string::npos, lines[0]);
}

BOOST_AUTO_TEST_CASE(time_until_body_counts_as_hung_must_be_positive) {
  BOOST_CHECK_THROW((ss::engine{{.hung_after = 0ms}}), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

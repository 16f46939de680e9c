// SPDX-License-Identifier: Apache-2.0
// The cost of a step with a router must not depend on the size of the state: the state that the
// router reads shares the values that the node has not written.
#include "runtime/pure_run.hpp"

#include <superstep/base/detail/shared_list.hpp>
#include <superstep/runtime/graph.hpp>
#include <superstep/runtime/json_graph.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <ctime>
#include <limits>

using namespace superstep;
using superstep::test::pure_run;

BOOST_AUTO_TEST_SUITE(router_cost)

namespace {

constexpr auto steps = 200;
constexpr auto growth_max = 2.0; // 1 if the cost is constant; a copy of the state takes over 20

double thread_seconds() {
  auto now = timespec{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Returns the CPU time of the steps after the first.
double cost_of_steps(const detail::program_ptr& table, write_list input) {
  auto run = pure_run{table, steps + 10};
  run.start(std::move(input));
  const auto begin = thread_seconds();
  for (auto i = 0; i < steps; ++i)
    run.advance();
  const auto spent = thread_seconds() - begin;
  BOOST_TEST((run.last == next_step::run));
  return spent;
}

/// Returns the ratio of the costs of a large and a small state: the minimum of several runs of
/// each. A ratio above the limit is measured again, because other processes share the CPU's caches.
template <class Measure>
double growth_of(int small_size, int large_size, Measure measure) {
  auto small = std::numeric_limits<double>::max();
  auto large = small;
  for (auto i = 0; i < 20 && (i < 5 || large / small >= growth_max); ++i) {
    small = std::min(small, measure(small_size));
    large = std::min(large, measure(large_size));
  }
  return large / small;
}

json::value message(int number) {
  return json::object{{"role", "user"}, {"content", "message " + std::to_string(number)}};
}

json::array messages(int n) {
  auto list = json::array{};
  for (auto i = 0; i < n; ++i)
    list.push_back(message(i));
  return list;
}

/// Returns a graph whose node adds a message and whose router returns to the node. Both read the
/// channel `n` only.
json_graph json_loop() {
  auto g = json_graph{};
  g.channel("n", "add").channel("messages", "append");
  auto options = json_node_options{};
  options.reads = {"n"};
  g.add(
      "talk",
      [](const json::value&) {
        return json::object{{"n", 1}, {"messages", json::array{message(0)}}};
      },
      std::move(options));
  g.edge("__start__", "talk");
  g.branch("talk", [](const json::value& s) {
    return std::string{s.at("n").as_int64() >= 0 ? "talk" : "__end__"};
  });
  return g;
}

double many_json_messages(int n) {
  const auto graph = json_loop().compile();
  return cost_of_steps(detail::program_of(graph),
                       detail::adapter_of(graph).input(json::object{{"messages", messages(n)}}));
}

double many_channels(int n) {
  auto g = json_loop();
  auto input = json::object{};
  for (auto i = 0; i < n; ++i) {
    const auto name = "channel " + std::to_string(i);
    g.channel(name);
    input[name] = message(i);
  }
  const auto graph = g.compile();
  return cost_of_steps(detail::program_of(graph), detail::adapter_of(graph).input(input));
}

using lines = shared_list<std::string>;

struct add_lines {
  void operator()(lines& into, lines&& more) const {
    for (const auto& line : more)
      into.push_back(line);
  }
};

struct talk_state {
  lines messages;
  int n = 0;
  using reducers = superstep::reducers<by<&talk_state::messages, add_lines>>;
};
BOOST_DESCRIBE_STRUCT(talk_state, (), (messages, n))

lines some_lines(int n) {
  auto out = lines{};
  for (auto i = 0; i < n; ++i)
    out.push_back("message " + std::to_string(i));
  return out;
}

double many_typed_messages(int n) {
  constexpr auto talk = node<talk_state>{"talk"};
  auto g = graph<talk_state>{};
  g.add(talk, [](const talk_state& s) {
    return update{set<&talk_state::n>(s.n + 1), set<&talk_state::messages>(some_lines(1))};
  });
  g.edge(start, talk);
  g.branch(talk, [](const talk_state& s) -> destination {
    if (s.n > 0)
      return destination{"talk"};
    return end;
  });
  return cost_of_steps(detail::program_of(g.compile()),
                       detail::input_writes(update{set<&talk_state::messages>(some_lines(n))}));
}

} // namespace

BOOST_AUTO_TEST_CASE(router_cost_is_independent_of_json_messages) {
  BOOST_TEST(growth_of(80, 8'000, many_json_messages) < growth_max);
}

BOOST_AUTO_TEST_CASE(router_cost_is_independent_of_unwritten_channels) {
  BOOST_TEST(growth_of(30, 1'000, many_channels) < growth_max);
}

BOOST_AUTO_TEST_CASE(router_cost_is_independent_of_typed_messages) {
  BOOST_TEST(growth_of(80, 8'000, many_typed_messages) < growth_max);
}

BOOST_AUTO_TEST_SUITE_END()

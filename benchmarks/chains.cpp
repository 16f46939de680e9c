// SPDX-License-Identifier: Apache-2.0
// Chains, loops and joins of trivial nodes, which measure the cost of a super-step itself.
#include "counter_chain.hpp"
#include "series.hpp"
#include "workloads.hpp"

#include <superstep/messages/messages.hpp>

#include <boost/describe/class.hpp>

#include <array>
#include <functional>
#include <string>

namespace superstep::bench {

struct talk {
  message_list messages;
  using reducers = superstep::reducers<by<&talk::messages, add_messages>>;
};
BOOST_DESCRIBE_STRUCT(talk, (), (messages))

struct sum {
  std::int64_t total = 0;
  using reducers = superstep::reducers<by<&sum::total, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(sum, (), (total))

namespace {

constexpr auto loop_a = node<counter>{"a"};
constexpr auto loop_b = node<counter>{"b"};

compiled_graph<counter> make_loop(std::int64_t steps) {
  auto g = graph<counter>{};
  g.add(loop_a, add_one).add(loop_b, add_one).edge(start, loop_a).edge(loop_a, loop_b);
  g.branch(
      loop_b,
      [steps](const counter& s) { return s.n < steps ? destination{loop_a} : destination{end}; },
      {loop_a, end});
  return g.compile({.name = "loop"});
}

/// Builds START -> five nodes -> join -> END.
compiled_graph<sum> make_fan5() {
  constexpr auto one = std::array{node<sum>{"one0"}, node<sum>{"one1"}, node<sum>{"one2"},
                                  node<sum>{"one3"}, node<sum>{"one4"}};
  constexpr auto join = node<sum>{"join"};
  auto g = graph<sum>{};
  for (const auto n : one) {
    g.add(n, [](const sum&) { return update{set<&sum::total>(1)}; });
    g.edge(start, n);
  }
  g.add(join, [](const sum&) {});
  g.edge({one[0], one[1], one[2], one[3], one[4]}, join);
  g.edge(join, end);
  return g.compile({.name = "fan5"});
}

/// Measures series of complete runs of a counter graph. Each run must end at `expected`.
report measure_counter(parameters& p, std::int64_t expected, std::int64_t runs_default,
                       const compiled_graph<counter>& graph, engine_options options) {
  const auto runs = p.count("runs", runs_default);
  const auto repetitions = p.repetitions();
  p.done();
  auto e = engine{options};
  auto runs_of = series<counter>{e, graph, {}, steps_max(expected)};
  static_cast<void>(runs_of.run(1));
  auto out = report{};
  out.time = measure(repetitions, [&] {
    auto last = runs_of.run(runs);
    expect(last.state.n == expected, "n is " + std::to_string(last.state.n));
    return last;
  });
  out.units = static_cast<double>(runs);
  out.checks = {{"n", expected}};
  return out;
}

} // namespace

report sequential(parameters& p) {
  const auto length = p.integer("K", 10, {.min = 1, .max = 100'000});
  const auto options = p.engine();
  const auto chain = make_chain<counter>(static_cast<std::size_t>(length), add_one);
  auto out = measure_counter(p, length, 1, chain, options);
  out.unit = "super-step";
  out.units *= static_cast<double>(length);
  return out;
}

report sequential_messages(parameters& p) {
  const auto length = p.count("K", 10, {.min = 1, .max = 100'000});
  const auto options = p.engine();
  const auto repetitions = p.repetitions();
  p.done();
  const auto graph = make_chain<talk>(length, [](const talk&) {});
  auto e = engine{options};
  auto input = talk{};
  input.messages = {human_message("hi")};
  auto runs =
      series<talk>{e, graph, std::move(input), steps_max(static_cast<std::int64_t>(length))};
  static_cast<void>(runs.run(1));
  auto out = report{.unit = "super-step", .units = static_cast<double>(length)};
  out.time = measure(repetitions, [&] {
    auto last = runs.run(1);
    expect(last.state.messages.size() == 1 && last.stats.steps == length,
           "steps are " + std::to_string(last.stats.steps));
    return last;
  });
  out.checks = {{"messages", 1}};
  return out;
}

report chain3(parameters& p) {
  const auto fresh = p.flag("fresh", false);
  auto options = p.engine();
  options.pool_actors = !fresh;
  auto out = measure_counter(p, 3, 20'000, make_chain<counter>(3, add_one), options);
  out.unit = "run";
  return out;
}

report loop(parameters& p) {
  const auto steps = p.integer("S", 1'000, {.min = 2, .max = 100'000'000});
  if (steps % 2 != 0)
    throw usage_error{"S must be even: the loop can only end after its second node"};
  const auto options = p.engine();
  auto out = measure_counter(p, steps, 1, make_loop(steps), options);
  out.unit = "super-step";
  out.units *= static_cast<double>(steps);
  return out;
}

report fan5(parameters& p) {
  const auto fresh = p.flag("fresh", false);
  const auto runs = p.count("runs", 20'000);
  const auto repetitions = p.repetitions();
  auto options = p.engine();
  options.pool_actors = !fresh;
  p.done();
  auto e = engine{options};
  const auto graph = make_fan5();
  auto runs_of = series<sum>{e, graph, {}, {}};
  static_cast<void>(runs_of.run(1));
  auto out = report{.unit = "run", .units = static_cast<double>(runs)};
  out.time = measure(repetitions, [&] {
    auto last = runs_of.run(runs);
    expect(last.state.total == 5, "total is " + std::to_string(last.state.total));
    return last;
  });
  out.checks = {{"total", 5}};
  return out;
}

} // namespace superstep::bench

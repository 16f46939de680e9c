// SPDX-License-Identifier: Apache-2.0
// W2 and its variants: N Sends to one node in one super-step.
#include "series.hpp"
#include "workloads.hpp"

#include <superstep/messages/messages.hpp>

#include <boost/describe/class.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace superstep::bench {

struct fan {
  std::int64_t total = 0;
  using reducers = superstep::reducers<by<&fan::total, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(fan, (), (total))

/// A state with the same sum, and a conversation that no node uses.
struct talking_fan {
  std::int64_t total = 0;
  message_list messages;
  using reducers = superstep::reducers<by<&talking_fan::total, std::plus<>>,
                                       by<&talking_fan::messages, add_messages>>;
};
BOOST_DESCRIBE_STRUCT(talking_fan, (), (total, messages))

namespace {

struct item {
  std::int64_t i;
};
constexpr auto worker = node<item>{"worker"};

template <class State>
compiled_graph<State> make_fan(std::int64_t width) {
  auto g = graph<State>{};
  g.add(worker, [](const item& in) { return update{set<&State::total>(in.i)}; });
  g.branch(start,
           [width](const State&) {
             auto sends = destinations{};
             sends.reserve(static_cast<std::size_t>(width));
             for (auto k = std::int64_t{0}; k < width; ++k)
               sends.emplace_back(worker, item{k});
             return sends;
           },
           {worker});
  g.edge(worker, end);
  return g.compile({.name = "fan"});
}

constexpr std::int64_t sum_below(std::int64_t n) {
  return n * (n - 1) / 2;
}

template <class State>
timing measure_fan(engine& e, std::int64_t width, const State& input, std::size_t runs,
                   std::size_t repetitions) {
  const auto graph = make_fan<State>(width);
  auto runs_of = series<State>{e, graph, input, {}};
  static_cast<void>(runs_of.run(1));
  return measure(repetitions, [&] {
    auto last = runs_of.run(runs);
    expect(last.state.total == sum_below(width), "total is " + std::to_string(last.state.total));
    return last;
  });
}

} // namespace

report fan_out(parameters& p) {
  const auto width = p.integer("N", 1'000, {.min = 1, .max = 10'000'000});
  const auto runs = p.count("runs", 1);
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  auto e = engine{options};
  static_cast<void>(measure_fan<fan>(e, 10, {}, 1, 1));
  auto out =
      report{.unit = "task", .units = static_cast<double>(width) * static_cast<double>(runs)};
  out.time = measure_fan<fan>(e, width, {}, runs, repetitions);
  out.checks = {{"total", sum_below(width)}};
  return out;
}

report send_state(parameters& p) {
  const auto width = p.integer("N", 100, {.min = 1, .max = 1'000'000});
  const auto messages = p.count("M", 2'000, {.min = 0, .max = 10'000'000});
  const auto runs = p.count("runs", 1);
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  auto input = talking_fan{};
  for (auto i = std::size_t{0}; i < messages; ++i)
    input.messages.push_back(human_message(std::string(100, 'm')));
  auto e = engine{options};
  // Every run copies its input. The difference to a run with a single Send is the cost of the other
  // Sends.
  constexpr auto few = std::int64_t{1};
  const auto without = measure_fan(e, few, input, runs, repetitions);
  auto out =
      report{.unit = "task", .units = static_cast<double>(width) * static_cast<double>(runs)};
  out.time = measure_fan(e, width, input, runs, repetitions);
  if (width > few)
    out.extra = {{"send_cpu_us", (out.time.cpu_min - without.cpu_min) * 1e6 /
                                     static_cast<double>(width - few) / static_cast<double>(runs)}};
  out.checks = {{"total", sum_below(width)}};
  return out;
}

namespace {

struct point {
  double n;
  double cost; // seconds per run
};

/// Fits a + b·N by least squares of the relative deviations. Absolute deviations would depend
/// almost only on the widest step.
report fit(std::vector<point> points) {
  auto w = 0.0, wx = 0.0, wxx = 0.0, wy = 0.0, wxy = 0.0;
  for (const auto& q : points) {
    const auto weight = 1 / (q.cost * q.cost);
    w += weight;
    wx += weight * q.n;
    wxx += weight * q.n * q.n;
    wy += weight * q.cost;
    wxy += weight * q.n * q.cost;
  }
  const auto b = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  const auto a = (wy - b * wx) / w;
  auto worst = 0.0;
  auto costs = json::object{};
  for (const auto& q : points) {
    worst = std::max(worst, std::abs(a + b * q.n - q.cost) / q.cost);
    costs[std::to_string(static_cast<std::int64_t>(q.n))] = q.cost * 1e6;
  }
  auto out = report{.unit = "task"};
  out.extra = {{"a_us", a * 1e6},
               {"b_ns", b * 1e9},
               {"worst_deviation", worst},
               {"cpu_us", std::move(costs)}};
  return out;
}

} // namespace

report wide_step(parameters& p) {
  const auto widths = p.choice("N", {"1", "10", "100", "1000", "10000", "100000", "all"});
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  auto e = engine{options};
  static_cast<void>(measure_fan<fan>(e, 1, {}, 1, 1));
  if (widths != "all") {
    const auto n = std::stoll(widths);
    auto out = report{.unit = "task", .units = static_cast<double>(n)};
    out.time = measure_fan<fan>(e, n, {}, 1, repetitions);
    out.checks = {{"total", sum_below(n)}};
    return out;
  }
  auto points = std::vector<point>{};
  auto widest = timing{};
  for (auto n = std::int64_t{1}; n <= 100'000; n *= 10) {
    const auto runs = static_cast<std::size_t>(100'000 / n);
    widest = measure_fan<fan>(e, n, {}, runs, repetitions);
    points.push_back({static_cast<double>(n), widest.cpu_min / static_cast<double>(runs)});
  }
  auto out = fit(std::move(points));
  out.time = widest;
  out.units = 100'000;
  out.checks = {{"total", sum_below(100'000)}};
  return out;
}

} // namespace superstep::bench

// SPDX-License-Identifier: Apache-2.0
// Runs that are submitted at once and of which every n-th is heavy. The bodies use the CPU. The
// same work on bare threads, which take one run after the other, is measured alternately with it.
#include "workloads.hpp"

#include <boost/describe/class.hpp>

#include <algorithm>
#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace superstep::bench {

struct burden {
  std::int64_t left = 0; ///< number of bodies that the run still has to run
  std::int64_t us = 0;   ///< CPU time of each of them, in microseconds
};
BOOST_DESCRIBE_STRUCT(burden, (), (left, us))

namespace {

constexpr auto body = node<burden>{"body"};

/// Computes until the calling thread has used this much CPU time. The time of another thread on the
/// same core does not count.
void use_cpu(std::int64_t us) {
  const auto until = thread_cpu_seconds() + static_cast<double>(us) / 1e6;
  while (thread_cpu_seconds() < until) {
  }
}

compiled_graph<burden> make_mixed() {
  auto g = graph<burden>{};
  g.add(body, [](const burden& s) {
    use_cpu(s.us);
    return update{set<&burden::left>(s.left - 1)};
  });
  g.edge(start, body);
  g.branch(body, [](const burden& s) { return s.left > 0 ? destination{body} : destination{end}; },
           {body, end});
  return g.compile({.name = "mixed"});
}

void on_engine(engine& e, const compiled_graph<burden>& graph, const std::vector<burden>& runs) {
  auto left = std::latch{static_cast<std::ptrdiff_t>(runs.size())};
  auto good = std::atomic<bool>{true};
  auto config = run_config{};
  config.recursion_limit = 100'000'000;
  for (const auto& r : runs)
    e.submit(graph, r, config, [&](const run_result<burden>& ended) {
      if (ended.error || ended.state.left != 0)
        good = false;
      left.count_down();
    });
  left.wait();
  expect(good, "a run did not end with left == 0");
}

void on_threads(std::size_t threads, const std::vector<burden>& runs) {
  auto next = std::atomic<std::size_t>{0};
  const auto take_runs = [&] {
    for (auto i = next.fetch_add(1); i < runs.size(); i = next.fetch_add(1))
      for (auto left = runs[i].left; left > 0; --left)
        use_cpu(runs[i].us);
  };
  auto others = std::vector<std::thread>{};
  for (auto i = std::size_t{1}; i < threads; ++i)
    others.emplace_back(take_runs);
  take_runs();
  for (auto& t : others)
    t.join();
}

} // namespace

report mixed_runs(parameters& p) {
  const auto count = p.count("R", 64);
  const auto every = p.count("every", 4);
  const auto heavy =
      burden{p.integer("heavy_bodies", 5, {.min = 1}), p.integer("heavy_us", 10'000, {.min = 1})};
  const auto light =
      burden{p.integer("light_bodies", 5, {.min = 1}), p.integer("light_us", 100, {.min = 1})};
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  auto runs = std::vector<burden>{};
  auto work = 0.0;
  for (auto i = std::size_t{0}; i < count; ++i) {
    runs.push_back(i % every == 0 ? heavy : light);
    work += static_cast<double>(runs.back().left * runs.back().us) / 1e6;
  }
  const auto workers = options.workers > 0
                           ? options.workers
                           : std::max<std::size_t>(1, std::thread::hardware_concurrency());
  const auto graph = make_mixed();
  auto e = engine{options};
  auto out = report{.unit = "run", .units = static_cast<double>(count)};
  auto threads = timing{};
  for (auto i = std::size_t{0}; i < repetitions; ++i) {
    const auto take = [&](timing& into, auto run) {
      const auto cpu = cpu_seconds();
      const auto wall = wall_seconds();
      run();
      into.add(wall_seconds() - wall, cpu_seconds() - cpu);
    };
    take(out.time, [&] { on_engine(e, graph, runs); });
    take(threads, [&] { on_threads(workers, runs); });
  }
  const auto cores = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  const auto ideal = work / static_cast<double>(std::min(workers, cores));
  out.extra = {{"seconds_threads", threads.seconds},
               {"seconds_ideal", ideal},
               {"of_threads", threads.seconds / out.time.seconds},
               {"of_ideal", ideal / out.time.seconds}};
  return out;
}

} // namespace superstep::bench

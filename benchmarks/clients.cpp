// SPDX-License-Identifier: Apache-2.0
// Small runs by concurrent clients. With several workers, the rate of runs shows what the workers
// share: two workers should run as many as two processes.
#include "counter_chain.hpp"
#include "echo_agent.hpp"
#include "workloads.hpp"

#include <superstep/actors/engine.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <thread>
#include <utility>

namespace superstep::bench {

namespace {

constexpr auto clients = std::size_t{64};
constexpr auto rounds = std::int64_t{3}; // tool calls of an agent

/// The run that each client repeats.
template <class State>
struct repeated_run {
  compiled_graph<State> graph;
  State (*input)();
  bool (*is_right)(const State& ended);
};

/// A client that starts its next run when the previous one has ended.
template <class State>
class client {
public:
  client(engine& e, const repeated_run<State>& what, const std::atomic<bool>& over)
      : engine_{e}, what_{what}, over_{over} {}

  void next() {
    engine_.submit(what_.graph, what_.input(), {}, [this](run_result<State> r) {
      good_ = good_ && !r.error && what_.is_right(r.state);
      ++ended_;
      if (over_.load(std::memory_order_relaxed))
        returned_.set_value();
      else
        next();
    });
  }
  /// Waits for the last run. Returns the number of runs, or 0 if a run had a wrong result.
  std::uint64_t ended() {
    returned_.get_future().get();
    return good_ ? ended_ : 0;
  }

private:
  engine& engine_;
  const repeated_run<State>& what_;
  const std::atomic<bool>& over_;
  alignas(64) std::uint64_t ended_ = 0; // on its own cache line: clients run on several lanes
  bool good_ = true;
  std::promise<void> returned_;
};

template <class State>
std::uint64_t let_clients_run(engine& e, const repeated_run<State>& what, double seconds) {
  auto over = std::atomic<bool>{false};
  auto all = std::deque<client<State>>{};
  for (auto i = std::size_t{0}; i < clients; ++i)
    all.emplace_back(e, what, over);
  for (auto& c : all)
    c.next();
  std::this_thread::sleep_for(std::chrono::duration<double>{seconds});
  over.store(true, std::memory_order_relaxed);
  auto runs = std::uint64_t{0};
  for (auto& c : all) {
    const auto ended = c.ended();
    expect(ended > 0, "a run had a wrong result");
    runs += ended;
  }
  return runs;
}

template <class State>
report measure_clients(const engine_options& options, const repeated_run<State>& what,
                       double seconds, std::size_t repetitions) {
  auto e = engine{options};
  static_cast<void>(let_clients_run(e, what, 0.1));
  auto out = report{.unit = "run", .units = 0};
  for (auto i = std::size_t{0}; i < repetitions; ++i) {
    const auto cpu = cpu_seconds();
    const auto wall = wall_seconds();
    const auto runs = static_cast<double>(let_clients_run(e, what, seconds));
    auto time = timing{};
    time.add(wall_seconds() - wall, cpu_seconds() - cpu);
    if (runs / time.seconds > out.units / out.time.seconds) { // keeps the highest rate
      out.units = runs;
      out.time = time;
    }
  }
  out.extra = {{"runs_per_s", out.units / out.time.seconds},
               {"runs_per_cpu_s", out.units / out.time.cpu}};
  return out;
}

report measure_chains(const engine_options& options, double seconds, std::size_t repetitions) {
  const auto what = repeated_run<counter>{make_chain<counter>(3, add_one), [] { return counter{}; },
                                          [](const counter& ended) { return ended.n == 3; }};
  auto out = measure_clients(options, what, seconds, repetitions);
  out.checks = {{"n", 3}};
  return out;
}

report measure_agents(const engine_options& options, double seconds, std::size_t repetitions) {
  static constexpr auto s = script{.rounds = rounds};
  const auto what = repeated_run<chat_state>{
      make_echo_agent(s, react_version::v2, make_echo(std::chrono::milliseconds{0}, false)), hi,
      [](const chat_state& ended) {
        return static_cast<std::int64_t>(ended.messages.size()) == messages_of(s);
      }};
  auto out = measure_clients(options, what, seconds, repetitions);
  out.checks = {{"messages", messages_of(s)}};
  return out;
}

} // namespace

report concurrent_runs(parameters& p) {
  const auto seconds =
      static_cast<double>(p.integer("ms", 2'000, {.min = 50, .max = 3'600'000})) / 1'000;
  const auto repetitions = p.count("reps", 1, {.min = 1, .max = 1'000});
  const auto is_agent = p.flag("agent", false);
  const auto options = p.engine();
  p.done();
  return is_agent ? measure_agents(options, seconds, repetitions)
                  : measure_chains(options, seconds, repetitions);
}

} // namespace superstep::bench

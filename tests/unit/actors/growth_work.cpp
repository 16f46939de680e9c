// SPDX-License-Identifier: Apache-2.0
#include "growth_work.hpp"

#include "graphs.hpp"

#include <superstep/actors/caf.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/checkpoint/write_cache.hpp>
#include <superstep/runtime/json_graph.hpp>

#include <caf/actor.hpp>
#include <caf/send.hpp>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <future>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <malloc.h>

namespace testing::work {

using namespace std::chrono_literals;

namespace {

void expect(bool holds, const char* what) {
  if (!holds)
    throw std::runtime_error{what};
}

double process_clock() {
  auto now = timespec{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Returns the CPU time of this process when its other threads are idle; other processes on the
/// machine do not count. The clock counts a running thread only up to the last tick of its core, so
/// it is read until it stands still for several ticks.
double cpu_seconds() {
  constexpr auto own_use = 0.0005; // of this loop
  auto now = process_clock();
  for (auto i = 0; i < 100; ++i) {
    std::this_thread::sleep_for(20ms);
    const auto before = std::exchange(now, process_clock());
    if (now - before < own_use)
      break;
  }
  return now;
}

void await_count(const std::atomic<int>& count, int n) {
  while (count < n)
    std::this_thread::yield();
}

double wide_step(int n, const ss::compile_options& compile, const ss::node_options& node) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(
      worker, [](const int&) { return ss::update{ss::set<&numbers::total>(1)}; }, node);
  g.branch(ss::start, fan_out);
  const auto graph = g.compile(compile);
  auto config = ss::run_config{};
  if (compile.checkpointer)
    config.thread_id = "t";
  const auto begin = cpu_seconds();
  const auto out = e.invoke(graph, numbers{.n = n, .total = 0, .seen = {}}, config).state;
  const auto spent = cpu_seconds() - begin;
  expect(out.total == n, "a task of the step is missing");
  return spent;
}

} // namespace

double cancel_wide(int n) {
  auto started = std::atomic<int>{0};
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(worker, [&](const int&) -> ss::task<void> {
    ++started;
    auto nap = ss::sleep_for{1h};
    co_await nap;
  });
  g.branch(ss::start, fan_out);
  auto run = background_run<numbers>{e, g.compile(), numbers{.n = n, .total = 0, .seen = {}}};
  await_count(started, n);
  static_cast<void>(e.debug().actors({})); // returns when the lane has processed its earlier work
  const auto begin = cpu_seconds();
  run.handle.cancel();
  expect(run.result().error.has_value(), "the run was not cancelled");
  return cpu_seconds() - begin;
}

namespace {

/// Runs that wait in their only node, for an hour.
class parked_runs {
public:
  explicit parked_runs(int n) : ended_{n} {
    auto g = ss::graph<numbers>{};
    g.add(a, [this](const numbers&) -> ss::task<void> {
      ++started_;
      auto nap = ss::sleep_for{1h};
      co_await nap;
    });
    g.edge(ss::start, a);
    const auto graph = g.compile();
    for (auto i = 0; i < n; ++i)
      handles_.push_back(engine_.submit(
          graph, numbers{}, {}, [this](const ss::run_result<numbers>&) { ended_.count_down(); }));
    await_count(started_, n);
  }
  void cancel() {
    for (const auto& h : handles_)
      h.cancel();
    ended_.wait();
  }

private:
  std::atomic<int> started_{0};
  std::latch ended_;
  ss::engine engine_{{.workers = 1}};
  std::vector<ss::run_handle> handles_;
};

} // namespace

double cancel_many(int n) {
  auto parked = parked_runs{n};
  const auto begin = cpu_seconds();
  parked.cancel();
  return cpu_seconds() - begin;
}

double park_many(int n) {
  const auto begin = cpu_seconds();
  auto parked = parked_runs{n};
  const auto spent = cpu_seconds() - begin;
  parked.cancel();
  return spent;
}

namespace {

/// An engine with a thread `t` on which n Sends wait for resume values.
class interrupted_sends {
public:
  explicit interrupted_sends(int n) {
    auto options = ss::compile_options{};
    options.checkpointer = ss::memory_checkpointer();
    auto g = ss::graph<numbers>{};
    g.add(worker, [](const int& i, ss::runtime rt) -> ss::task<ss::update<numbers>> {
      auto question = rt.interrupt(i);
      co_await question;
      co_return ss::update{ss::set<&numbers::total>(1)};
    });
    g.branch(ss::start, fan_out);
    graph_ = g.compile(options);
    config_.thread_id = "t";
    questions_ =
        engine_.invoke(*graph_, numbers{.n = n, .total = 0, .seen = {}}, config_).interrupts;
    expect(questions_.size() == std::size_t(n), "an interrupt is missing");
  }
  [[nodiscard]] ss::engine& engine() { return engine_; }
  [[nodiscard]] const ss::compiled_graph<numbers>& graph() const { return *graph_; }
  [[nodiscard]] const ss::run_config& config() const { return config_; }
  [[nodiscard]] const std::vector<ss::interrupt>& questions() const { return questions_; }

private:
  ss::engine engine_{{.workers = 1}};
  std::optional<ss::compiled_graph<numbers>> graph_;
  ss::run_config config_;
  std::vector<ss::interrupt> questions_;
};

} // namespace

double resume_interrupted(int n) {
  auto waiting = interrupted_sends{n};
  auto values = std::map<std::string, ss::json::value>{};
  for (const auto& asked : waiting.questions())
    values[asked.id] = "yes";
  const auto begin = cpu_seconds();
  const auto out = waiting.engine()
                       .invoke(waiting.graph(), ss::resume(std::move(values)), waiting.config())
                       .state;
  const auto spent = cpu_seconds() - begin;
  expect(out.total == n, "a task of the step is missing");
  return spent;
}

double read_interrupted(int n) {
  auto waiting = interrupted_sends{n};
  const auto begin = cpu_seconds();
  const auto state = waiting.engine().get_state(waiting.graph(), waiting.config());
  const auto spent = cpu_seconds() - begin;
  expect(state.interrupts().size() == std::size_t(n), "an interrupt is missing");
  return spent;
}

double slow_readers(int n) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).edge(ss::start, a);
  g.branch(a,
           [](const numbers& s) -> ss::destination {
             if (s.n < 8)
               return a;
             return ss::end;
           },
           {a, ss::end});
  const auto graph = g.compile();
  auto all = std::vector<ss::event_range<numbers>>{};
  for (auto i = 0; i < n; ++i)
    all.push_back(e.stream(graph, numbers{}, ss::stream_mode::updates, {}, 2));
  const auto begin = cpu_seconds();
  for (auto more = true; more;) {
    more = false;
    for (auto& s : all)
      more = s.next().has_value() || more;
  }
  return cpu_seconds() - begin;
}

double kept_sends(int n) {
  auto options = ss::compile_options{};
  options.checkpointer = ss::memory_checkpointer();
  return wide_step(n, options, {});
}

double cached_sends(int n) {
  auto options = ss::compile_options{};
  options.cache = std::make_shared<ss::memory_cache>();
  auto node = ss::node_options{};
  node.cache = ss::cache_policy{
      [](const ss::body_input& in) { return std::to_string(ss::input_as<int>(in)); }, {}};
  return wide_step(n, options, node);
}

namespace {

std::vector<std::string> node_names(int n) {
  auto all = std::vector<std::string>{};
  for (auto i = 0; i < n; ++i)
    all.push_back("n" + std::to_string(i));
  return all;
}

/// Returns a graph whose first step runs nodes with these names, each of which adds 1 to `total`.
ss::json_graph first_step(const std::vector<std::string>& names) {
  auto g = ss::json_graph{};
  g.channel("total", "add").channel("joined", "add");
  for (const auto& each : names)
    g.add(each, [](const ss::json::value&) {
       return ss::json::object{{"total", 1}};
     }).edge("__start__", each);
  return g;
}

/// Adds a node that adds 1 to `joined`.
void add_join(ss::json_graph& g, const std::vector<std::string>& sources, const std::string& name) {
  g.add(name, [](const ss::json::value&) {
     return ss::json::object{{"joined", 1}};
   }).join(sources, name);
}

ss::run_config without_limit() {
  auto config = ss::run_config{};
  config.recursion_limit = std::numeric_limits<std::uint32_t>::max();
  return config;
}

} // namespace

double long_chain(int n) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  const auto names = node_names(n);
  for (const auto& each : names)
    g.add(each, add_one);
  g.edge(ss::start, std::string_view{names.front()});
  for (auto i = std::size_t{1}; i < names.size(); ++i)
    g.edge(std::string_view{names[i - 1]}, std::string_view{names[i]});
  const auto begin = cpu_seconds();
  const auto out = e.invoke(g.compile(), numbers{}, without_limit()).state;
  const auto spent = cpu_seconds() - begin;
  expect(out.n == n, "a node of the chain is missing");
  return spent;
}

double wide_join(int n) {
  auto e = ss::engine{{.workers = 1}};
  const auto names = node_names(n);
  auto g = first_step(names);
  add_join(g, names, "last");
  const auto begin = cpu_seconds();
  const auto out = e.invoke(g.compile(), ss::json::object{{"total", 0}}).state;
  const auto spent = cpu_seconds() - begin;
  expect(out.at("total") == n && out.at("joined") == 1, "a source of the join is missing");
  return spent;
}

double many_joins(int n) {
  auto e = ss::engine{{.workers = 1}};
  const auto names = node_names(2 * n);
  auto g = first_step(names);
  for (auto i = std::size_t{0}; i < names.size(); i += 2)
    add_join(g, {names[i], names[i + 1]}, "last of " + names[i]);
  auto options = ss::compile_options{};
  options.checkpointer = ss::memory_checkpointer(); // versions of joins are counted on threads only
  auto config = without_limit();
  config.thread_id = "t";
  const auto begin = cpu_seconds();
  const auto out = e.invoke(g.compile(options), ss::json::object{{"total", 0}}, config).state;
  const auto spent = cpu_seconds() - begin;
  expect(out.at("total") == 2 * n && out.at("joined") == n, "a join is missing");
  return spent;
}

double mailed_writes(int n) {
  auto e = ss::engine{{.workers = 1}};
  auto found = std::promise<caf::actor>{};
  auto g = ss::graph<numbers>{};
  g.add(a, [&](const numbers&, ss::runtime rt) -> ss::task<void> {
    found.set_value(ss::coordinator(rt));
    static_cast<void>(co_await ss::next_write<int>(rt, "n"));
  });
  g.edge(ss::start, a);
  auto run = background_run<numbers>{e, g.compile(), numbers{}};
  const auto coordinator = found.get_future().get();
  const auto begin = cpu_seconds();
  for (auto i = 0; i < n; ++i)
    caf::anon_send(coordinator, ss::write_of<&numbers::seen>(std::vector<int>{i}));
  caf::anon_send(coordinator, ss::write_of<&numbers::n>(1));
  const auto seen = run.result().state.seen.size();
  const auto spent = cpu_seconds() - begin;
  expect(seen == static_cast<std::size_t>(n), "a write is missing");
  return spent;
}

std::size_t memory_after_timed_runs(int n) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).edge(ss::start, a);
  g.add(b, add_one).edge(a, b);
  const auto with_step_limit = g.compile({.step_timeout = 1h});
  auto config = ss::run_config{};
  config.deadline = 1h;
  for (auto i = 0; i < n; ++i)
    (void)e.invoke(with_step_limit, numbers{}, config);
  return ::mallinfo2().uordblks;
}

} // namespace testing::work

// SPDX-License-Identifier: Apache-2.0
// W9: sixteen tool calls of one AI message, each of which computes. The same calls on two bare
// threads are measured alternately with them, because the load of the machine may change.
#include "digest.hpp"
#include "echo_agent.hpp"
#include "series.hpp"
#include "workloads.hpp"

#include <superstep/tools/make_tool.hpp>

#include <boost/describe/class.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace superstep::bench {

struct work_arguments {
  std::int64_t j = 0;
};
BOOST_DESCRIBE_STRUCT(work_arguments, (), (j))

namespace {

constexpr auto calls_each = std::int64_t{16};

std::string work(std::int64_t j, std::int64_t iterations) {
  auto x = std::uint64_t{88'172'645'463'325'252} ^ static_cast<std::uint64_t>(j + 1);
  for (auto i = std::int64_t{0}; i < iterations; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return std::to_string(x);
}

/// A model that requests all calls at once, and ends the run when it gets their results.
class one_round final : public chat_model {
public:
  task<result<message>> complete(model_request request) const override {
    if (request.messages.back().type == message_type::tool)
      co_return ai_message("done");
    auto all = std::vector<tool_call>{};
    for (auto j = std::int64_t{0}; j < calls_each; ++j) {
      auto call = tool_call{};
      call.id = "call_" + std::to_string(j);
      call.name = "work";
      call.args["j"] = j;
      all.push_back(std::move(call));
    }
    co_return ai_message({}, std::move(all));
  }
  std::string fingerprint() const override { return "bench"; }
};

compiled_graph<chat_state> make_worker(std::int64_t iterations) {
  auto options = react_agent_options<chat_state>{};
  options.model = std::make_shared<const one_round>();
  options.tools = {
      make_tool<work_arguments>("work", "Computes.", [iterations](const work_arguments& a) {
        return work(a.j, iterations);
      })};
  return create_react_agent(std::move(options));
}

std::string results_of(const message_list& messages) {
  auto out = std::string{};
  for (const auto& m : messages) {
    if (m.type == message_type::tool)
      out += (out.empty() ? "" : "|") + m.content;
  }
  return out;
}

/// Runs the same calls on bare threads. Each thread takes the next call when it has finished one.
std::string on_threads(std::size_t threads, std::int64_t iterations) {
  auto results = std::vector<std::string>(calls_each);
  auto next = std::atomic<std::int64_t>{0};
  auto take_calls = [&] {
    for (auto j = next.fetch_add(1); j < calls_each; j = next.fetch_add(1))
      results[static_cast<std::size_t>(j)] = work(j, iterations);
  };
  auto others = std::vector<std::thread>{};
  for (auto i = std::size_t{1}; i < threads; ++i)
    others.emplace_back(take_calls);
  take_calls();
  for (auto& t : others)
    t.join();
  auto out = std::string{};
  for (const auto& r : results)
    out += (out.empty() ? "" : "|") + r;
  return out;
}

} // namespace

report cpu_tools(parameters& p) {
  const auto iterations = p.integer("iters", 2'500'000, {.min = 1, .max = 1'000'000'000'000});
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  auto single = options;
  single.workers = 1;
  auto e = engine{options};
  auto one = engine{single};
  const auto warm = make_worker(1);
  const auto graph = make_worker(iterations);
  auto runs = series<chat_state>{e, graph, hi(), {}};
  auto runs_of_one = series<chat_state>{one, graph, hi(), {}};
  static_cast<void>(series<chat_state>{e, warm, hi(), {}}.run(1));
  static_cast<void>(series<chat_state>{one, warm, hi(), {}}.run(1));

  auto out = report{.unit = "tool call", .units = static_cast<double>(calls_each)};
  auto with_one = timing{};
  auto thread = timing{};
  auto two_threads = timing{};
  auto results = on_threads(1, iterations);
  const auto take = [&](timing& into, auto run) {
    const auto cpu = cpu_seconds();
    const auto wall = wall_seconds();
    const auto got = run();
    into.add(wall_seconds() - wall, cpu_seconds() - cpu);
    expect(got == results, "the results differ from those of a bare thread: " + got.substr(0, 200));
  };
  for (auto i = std::size_t{0}; i < repetitions; ++i) {
    take(out.time, [&] { return results_of(runs.run(1).state.messages); });
    take(two_threads, [&] { return on_threads(2, iterations); });
    take(with_one, [&] { return results_of(runs_of_one.run(1).state.messages); });
    take(thread, [&] { return on_threads(1, iterations); });
  }
  out.extra = {{"speedup", with_one.seconds / out.time.seconds},
               {"threads_speedup", thread.seconds / two_threads.seconds},
               {"seconds_1_worker", with_one.seconds},
               {"seconds_1_thread", thread.seconds},
               {"seconds_2_threads", two_threads.seconds}};
  out.checks = {{"digest", digest(results)}};
  return out;
}

} // namespace superstep::bench

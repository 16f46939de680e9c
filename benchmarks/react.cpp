// SPDX-License-Identifier: Apache-2.0
// The prebuilt agent: one run with many rounds (W4), and many runs at once (W7).
#include "crowd.hpp"
#include "digest.hpp"
#include "echo_agent.hpp"
#include "series.hpp"
#include "workloads.hpp"

#include <superstep/agents/create_agent.hpp>

#include <concepts>
#include <string>
#include <utility>
#include <vector>

namespace superstep::bench {

namespace {

/// The agent that is measured. plain: create_react_agent() with chat_state, the state of agent
/// files. react: create_react_agent() with messages_state. current: create_agent() with
/// messages_state.
enum class form { plain, react, current };

struct asked {
  script s;
  form f = form::plain;
  react_version version = react_version::v2;
};

template <class Options>
void fill(Options& options, const asked& a, tool_ptr echo) {
  options.model = make_scripted(a.s);
  options.tools = {std::move(echo)};
}

template <class State>
compiled_graph<State> make(const asked& a, tool_ptr echo) {
  if constexpr (std::same_as<State, chat_state>) {
    return make_echo_agent(a.s, a.version, std::move(echo));
  } else if (a.f == form::react) {
    auto options = react_agent_options<State>{};
    fill(options, a, std::move(echo));
    options.version = a.version;
    return create_react_agent(std::move(options));
  } else {
    auto options = agent_options<State>{};
    fill(options, a, std::move(echo));
    return create_agent(std::move(options));
  }
}

template <class State>
report measure_react(engine& e, const asked& a, std::size_t runs, std::size_t repetitions) {
  auto input = State{};
  input.messages = {human_message("hi")};
  const auto echo = make_echo(std::chrono::milliseconds{0}, a.s.large);
  auto smallest = a;
  smallest.s = {1, 1, a.s.large};
  const auto small = make<State>(smallest, echo);
  static_cast<void>(series<State>{e, small, input, {}}.run(1));

  const auto graph = make<State>(a, echo);
  auto runs_of = series<State>{e, graph, std::move(input), steps_max(2 * a.s.rounds + 1)};
  auto messages = message_list{};
  auto out =
      report{.unit = "tool call",
             .units = static_cast<double>(a.s.rounds * a.s.calls) * static_cast<double>(runs)};
  out.time = measure(repetitions, [&] {
    auto last = runs_of.run(runs);
    messages = last.state.messages;
    expect(static_cast<std::int64_t>(messages.size()) == messages_of(a.s),
           std::to_string(messages.size()) + " messages");
    return last;
  });
  out.checks = {{"messages", messages.size()}, {"digest", digest(joined_contents(messages))}};
  return out;
}

} // namespace

report react(parameters& p) {
  auto a = asked{};
  a.s.calls = p.integer("C", 1, {.min = 1, .max = 100'000});
  a.s.rounds = p.integer("T", 3, {.min = 1, .max = 1'000'000});
  a.s.large = p.flag("pay", false);
  a.version = p.choice("version", {"v2", "v1"}) == "v1" ? react_version::v1 : react_version::v2;
  if (p.choice("agent", {"plain", "react"}) == "react") // over messages_state
    a.f = form::react;
  if (p.flag("new", false)) // create_agent() has no versions
    a.f = form::current;
  const auto runs = p.count("runs", 1);
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  auto e = engine{options};
  return a.f == form::plain ? measure_react<chat_state>(e, a, runs, repetitions)
                            : measure_react<messages_state>(e, a, runs, repetitions);
}

namespace {

constexpr auto batch_script = script{.rounds = 2, .calls = 2};

} // namespace

report batch(parameters& p) {
  const auto runs = p.count("R", 1'000, {.min = 1, .max = 10'000'000});
  const auto latency = std::chrono::milliseconds{p.integer("lat", 0, {.min = 0, .max = 3'600'000})};
  const auto in_flight_max = p.count("conc", 0, {.min = 0, .max = 10'000'000});
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  auto e = engine{options};
  const auto graph = make_echo_agent(batch_script, react_version::v2, make_echo(latency, false));
  static_cast<void>(crowd{e, graph, hi(), 1, 1}.run());

  auto out = report{.unit = "run", .units = static_cast<double>(runs)};
  const auto before = resident_bytes();
  auto rss_per_run = 0.0;
  auto messages = std::size_t{0};
  auto dones = std::size_t{0};
  out.time = measure(repetitions, [&] {
    auto results = crowd{e, graph, hi(), runs, in_flight_max}.run();
    if (rss_per_run == 0) // only the first batch allocates memory; later batches reuse it
      rss_per_run = static_cast<double>(peak_resident_bytes() - before) / static_cast<double>(runs);
    messages = 0;
    dones = 0;
    for (const auto& r : results) {
      messages += r.state.messages.size();
      dones += r.state.messages.back().content == "done 1 4" ? 1 : 0;
    }
    expect(messages == runs * 8, std::to_string(messages) + " messages");
    return results;
  });
  out.extra["cpu_per_1000"] = out.time.cpu / static_cast<double>(runs) * 1'000;
  if (in_flight_max == 0)
    out.extra["rss_per_run_kb"] = rss_per_run / 1'024;
  out.checks = {{"messages", messages}, {"dones", dones}};
  return out;
}

} // namespace superstep::bench

// SPDX-License-Identifier: Apache-2.0
// The prebuilt agent, once with many rounds (W4) and many times at once (W7).
#include "crowd.hpp"
#include "digest.hpp"
#include "echo_agent.hpp"
#include "series.hpp"
#include "workloads.hpp"

#include <string>
#include <vector>

namespace superstep::bench {

report react(parameters& p) {
  auto s = script{};
  s.calls = p.integer("C", 1, {.min = 1, .max = 100'000});
  s.rounds = p.integer("T", 3, {.min = 1, .max = 1'000'000});
  s.large = p.flag("pay", false);
  const auto version =
      p.choice("version", {"v2", "v1"}) == "v1" ? react_version::v1 : react_version::v2;
  static_cast<void>(p.flag("new", false)); // peers with an older and a newer factory differ here
  const auto runs = p.count("runs", 1);
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  auto e = engine{options};
  const auto echo = make_echo(std::chrono::milliseconds{0}, s.large);
  const auto small = make_echo_agent({1, 1, s.large}, version, echo);
  static_cast<void>(series<chat_state>{e, small, hi(), {}}.run(1));

  const auto graph = make_echo_agent(s, version, echo);
  auto runs_of = series<chat_state>{e, graph, hi(), steps_max(2 * s.rounds + 1)};
  auto messages = message_list{};
  auto out = report{.unit = "tool call",
                    .units = static_cast<double>(s.rounds * s.calls) * static_cast<double>(runs)};
  out.time = measure(repetitions, [&] {
    auto last = runs_of.run(runs);
    messages = last.state->messages;
    expect(static_cast<std::int64_t>(messages.size()) == messages_of(s),
           std::to_string(messages.size()) + " messages");
    return last;
  });
  out.checks = {{"messages", messages.size()}, {"digest", digest(joined_contents(messages))}};
  return out;
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
  static_cast<void>(crowd{e, graph, 1, 1}.run());

  auto out = report{.unit = "run", .units = static_cast<double>(runs)};
  const auto before = resident_bytes();
  auto rss_per_run = 0.0;
  auto messages = std::size_t{0};
  auto dones = std::size_t{0};
  out.time = measure(repetitions, [&] {
    auto results = crowd{e, graph, runs, in_flight_max}.run();
    if (rss_per_run == 0) // the first batch: later ones reuse its memory
      rss_per_run = static_cast<double>(peak_resident_bytes() - before) / static_cast<double>(runs);
    messages = 0;
    dones = 0;
    for (const auto& r : results) {
      messages += r.state->messages.size();
      dones += r.state->messages.back().content == "done 1 4" ? 1 : 0;
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

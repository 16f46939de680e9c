// SPDX-License-Identifier: Apache-2.0
// W13: the prebuilt agent with a model behind HTTP. The server is another process at `url=`, for
// example the tests' server: `chat_server --scripted --latency-ms 20 --daemon`.
#include "crowd.hpp"
#include "echo_agent.hpp"
#include "workloads.hpp"

#include <superstep/models/provider_model.hpp>
#include <superstep/tools/tool_node.hpp>

#include <string>

namespace superstep::bench {

namespace {

constexpr auto http_script = script{.rounds = 2, .calls = 2};

chat_model_ptr make_http_model(io_runtime& io, const std::string& url, bool stream) {
  auto options = provider_model_options{};
  options.model = "scripted";
  options.base_url = url;
  options.api_key_env = "";
  options.stream = stream;
  auto limits = model_limits_options{};
  limits.model_calls.reset();
  auto made = make_provider_model(options, io, std::make_shared<model_limits>(limits));
  if (!made)
    throw usage_error{made.error().text};
  return *made;
}

} // namespace

report model_http(parameters& p) {
  const auto in_flight_max = p.count("conc", 1, {.min = 1, .max = 100'000});
  const auto most = static_cast<std::int64_t>(20 * in_flight_max);
  const auto runs = p.count("R", std::max(std::int64_t{50}, most), {.min = 1, .max = 10'000'000});
  const auto url = p.text("url", "http://127.0.0.1:8000/v1");
  const auto stream = p.flag("stream", false);
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  auto io = io_runtime{};
  auto e = engine{options};
  auto agent = react_agent_options<chat_state>{};
  agent.model = make_http_model(io, url, stream);
  agent.tools = {make_echo(std::chrono::milliseconds{0}, false)};
  const auto graph = create_react_agent(std::move(agent));
  // Opens all connections before the measurement.
  static_cast<void>(crowd{e, graph, hi(), in_flight_max, in_flight_max}.run());

  auto out = report{.unit = "run", .units = static_cast<double>(runs)};
  auto messages = std::size_t{0};
  out.time = measure(repetitions, [&] {
    auto results = crowd{e, graph, hi(), runs, in_flight_max}.run();
    messages = 0;
    for (const auto& r : results)
      messages += r.state.messages.size();
    expect(static_cast<std::int64_t>(messages) ==
               static_cast<std::int64_t>(runs) * messages_of(http_script),
           std::to_string(messages) + " messages");
    return results;
  });
  out.extra["runs_per_s"] = static_cast<double>(runs) / out.time.seconds;
  out.extra["cpu_per_run_ms"] = out.time.cpu / static_cast<double>(runs) * 1'000;
  out.checks = {{"messages", messages}};
  return out;
}

} // namespace superstep::bench

// SPDX-License-Identifier: Apache-2.0
// One turn of an agent whose model streams its calls one after the other. Shows how much time is
// saved when tools start before the answer is complete.
#include "digest.hpp"
#include "echo_agent.hpp"
#include "workloads.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/base/await.hpp>
#include <superstep/messages/messages.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace superstep::bench {

namespace {

using std::chrono::milliseconds;

/// A model that streams the scripted model's answer: one call after each `gap`.
class slow_model final : public chat_model {
public:
  slow_model(std::int64_t calls, milliseconds gap)
      : inner_{make_scripted({.rounds = 1, .calls = calls})}, gap_{gap} {}

  task<result<message>> complete(model_request request) const override {
    const auto tell = request.on_chunk;
    request.on_chunk = {};
    auto asking = inner_->complete(std::move(request));
    auto answer = co_await asking;
    auto index = std::int64_t{0};
    for (const auto& call : answer->tool_calls) {
      if (index > 0)
        co_await sleep_for{gap_};
      auto piece = message_chunk{};
      piece.part.type = message_type::ai;
      piece.call_chunks.push_back({call.name, to_text(call.args), call.id, index++});
      if (tell)
        tell(piece);
    }
    co_return answer;
  }
  std::string fingerprint() const override { return "bench"; }

private:
  chat_model_ptr inner_;
  milliseconds gap_;
};

} // namespace

report early_dispatch(parameters& p) {
  const auto calls = p.integer("C", 8, {.min = 1, .max = 1'000});
  const auto gap = milliseconds{p.integer("gap", 50, {.min = 0, .max = 10'000})};
  const auto latency = milliseconds{p.integer("lat", 300, {.min = 0, .max = 10'000})};
  const auto limit = p.count("limit", 0, {.min = 0, .max = 10'000});
  const auto is_early = p.flag("early", true);
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  auto e = engine{options};
  auto agent = react_agent_options<chat_state>{};
  agent.model = std::make_shared<const slow_model>(calls, gap);
  auto run = tool_node_options{};
  if (limit > 0)
    run.calls_at_once = limit;
  agent.tools = tool_node{{make_echo(latency, false)}, std::move(run)};
  if (is_early)
    agent.early_tools = {"echo"};
  const auto graph = create_react_agent(std::move(agent));

  auto out = report{.unit = "turn"};
  auto state = chat_state{};
  out.time = measure(repetitions, [&] {
    state = e.invoke(graph, hi()).state;
    return 0;
  });
  out.checks = {{"messages", state.messages.size()},
                {"digest", digest(joined_contents(state.messages))}};
  return out;
}

} // namespace superstep::bench

// SPDX-License-Identifier: Apache-2.0
// W10: streams tokens of a model through a graph to a reader.
#include "actors/engine_access.hpp"
#include "echo_agent.hpp"
#include "workloads.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/base/detail/assert.hpp>
#include <superstep/messages/messages.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace superstep::bench {

namespace {

constexpr auto tokens_per_run = std::size_t{200};
constexpr auto in_flight_max = std::size_t{100};

/// Returns the texts `tok0 `, `tok1 ` and so on. They are created once, because the cost of making
/// them is not part of streaming.
const std::vector<std::string>& tokens() {
  static const auto all = [] {
    auto out = std::vector<std::string>{};
    for (auto k = std::size_t{0}; k < tokens_per_run; ++k)
      out.push_back("tok" + std::to_string(k) + ' ');
    return out;
  }();
  return all;
}

/// A model that streams all tokens, one piece per token.
class talking_model final : public chat_model {
public:
  task<result<message>> complete(model_request request) const override {
    auto text = std::string{};
    for (const auto& said : tokens()) {
      text += said;
      if (!request.on_chunk)
        continue;
      auto piece = message_chunk{};
      piece.part.type = message_type::ai;
      piece.part.content = said;
      piece.is_last = &said == &tokens().back();
      request.on_chunk(piece);
    }
    co_return ai_message(std::move(text));
  }
  std::string fingerprint() const override { return "bench"; }
};

struct heard {
  std::size_t tokens = 0;
  std::size_t chars = 0;
};

/// Reads all events of a run, and checks that the tokens arrive in order.
heard read_all(detail::event_stream& events) {
  auto out = heard{};
  while (const auto event = events.next()) {
    const auto& piece = event->message.as<message_chunk>();
    const auto& text = piece.part.content;
    if (out.tokens >= tokens_per_run || text != tokens()[out.tokens])
      expect(false, "token " + std::to_string(out.tokens) + " of a run is '" + text + "'");
    ++out.tokens;
    out.chars += text.size();
  }
  return out;
}

} // namespace

report streaming(parameters& p) {
  const auto runs = p.count("R", 1'000, {.min = 1, .max = 1'000'000});
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  auto e = engine{options};
  auto agent = react_agent_options<chat_state>{};
  agent.model = std::make_shared<const talking_model>();
  const auto graph = create_react_agent(std::move(agent));

  auto out = report{.unit = "token", .units = static_cast<double>(runs * tokens_per_run)};
  auto all = heard{};
  out.time = measure(repetitions, [&] {
    all = {};
    auto begun = std::size_t{0};
    auto open = std::deque<detail::event_stream>{};
    while (begun < runs || !open.empty()) {
      for (; begun < runs && open.size() < in_flight_max; ++begun)
        open.push_back(detail::engine_access::stream(e, graph, hi(), stream_mode::messages));
      const auto one = read_all(open.front());
      expect(one.tokens == tokens_per_run, std::to_string(one.tokens) + " tokens of a run");
      all.tokens += one.tokens;
      all.chars += one.chars;
      open.pop_front();
    }
    return 0;
  });
  out.extra["cpu_per_token_us"] = out.time.cpu_min / out.units * 1e6;
  out.checks = {{"tokens", all.tokens}, {"chars", all.chars}};
  return out;
}

} // namespace superstep::bench

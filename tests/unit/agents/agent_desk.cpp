// SPDX-License-Identifier: Apache-2.0
// The agent of agent_desk.hpp, in its own file because it takes long to compile.
#include "agents/agent_desk.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>

namespace superstep::testing {

desk first_turn() {
  auto state = desk{};
  state.messages = {human_message("question")};
  state.owner = "Kim";
  return state;
}

compiled_graph<desk> built(agent_options<desk> options) {
  return create_agent(std::move(options));
}

run_result<desk> run(agent_options<desk> options, run_config config) {
  auto lanes = engine{engine_options{.workers = 1}};
  config.recursion_limit = 100;
  return lanes.try_invoke(built(std::move(options)), first_turn(), std::move(config));
}

conversation::conversation(agent_options<desk> options)
    : agent_{[&] {
        options.checkpointer = memory_checkpointer();
        return built(std::move(options));
      }()} {
  config_.thread_id = "t";
  config_.recursion_limit = 100;
}

run_result<desk> conversation::say(const std::string& text) {
  auto more = message_list{human_message(text)};
  return lanes_.try_invoke(agent_, update<desk>{set<&desk::messages>(std::move(more))}, config_);
}

run_result<desk> conversation::answer(json::value response) {
  auto given = resume(std::move(response));
  return lanes_.try_invoke(agent_, std::move(given), config_);
}

std::string why(const run_result<desk>& ended) {
  return ended.error ? describe(ended.error->cause) : "";
}

std::string said(const run_result<desk>& ended) {
  auto out = std::string{};
  for (const auto& m : ended.state.messages)
    out += (out.empty() ? "" : "\n") + m.content;
  return out;
}

} // namespace superstep::testing

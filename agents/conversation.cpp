// SPDX-License-Identifier: Apache-2.0
#include "agents/history_hooks.hpp"

#include <superstep/agents/conversation.hpp>
#include <superstep/agents/create_react_agent.hpp>
#include <superstep/agents/detail/middleware_parts.hpp>
#include <superstep/agents/review_calls.hpp>
#include <superstep/runtime/thread_state.hpp>

#include <utility>

namespace superstep {

namespace {

tool_interceptor all_reviews(const agent_spec& spec) {
  auto out = std::vector<tool_interceptor>{};
  for (const auto& one : spec.reviews) {
    auto options = review_options{};
    options.tools = {one.tool};
    options.config = one.config;
    out.push_back(review_calls(std::move(options)));
  }
  return react::composed(std::move(out));
}

const message_list& messages_of(const state_snapshot& from) {
  return static_cast<const struct_block<messages_state>&>(*from.state).state.messages;
}

} // namespace

compiled_graph<messages_state> make_conversation(const agent& from, std::shared_ptr<saver> keeper,
                                                 std::shared_ptr<store> memory) {
  const auto& spec = from.spec();
  auto tools = tool_node_options{};
  tools.around = all_reviews(spec);
  tools.calls_at_once = spec.limits.tool_calls; // a call that waits for a person is none of them
  auto options = agent_options<messages_state>{};
  options.name = spec.name;
  options.model = from.model();
  options.tools = tool_node{from.tools(), std::move(tools)};
  if (!spec.prompt.empty())
    options.prompt = spec.prompt;
  options.version = spec.version;
  options.checkpointer = std::move(keeper);
  options.store = std::move(memory);
  options.answer_invalid_calls = true;
  if (spec.trim)
    options.pre_model_hook = detail::make_trim_hook(*spec.trim);
  if (spec.summarise)
    options.pre_model_hook = detail::make_summary_hook(*spec.summarise, from.model());
  if (spec.response)
    options.response = response_format{*spec.response, {}, spec.response_method};
  return create_react_agent(std::move(options));
}

conversation_state look_at(const compiled_graph<messages_state>& conversation,
                           const std::string& thread_id) {
  const auto found = get_state(detail::program_of(conversation), {thread_id});
  auto out = conversation_state{};
  if (!found.point)
    return out;
  out.messages = messages_of(found);
  out.questions = found.interrupts();
  out.is_unfinished = !found.next.empty();
  return out;
}

} // namespace superstep

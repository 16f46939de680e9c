// SPDX-License-Identifier: Apache-2.0
// Compiles the graph of an agent file with create_agent(). Batch rows, conversations
// (conversation.cpp) and agents used as tools (agent_tool.cpp) all use this graph.
#include "agents/agent_graph.hpp"

#include "agents/errors_outside.hpp"
#include "agents/history_hooks.hpp"
#include "models/http/wire_request.hpp"

#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/prebuilt_middleware.hpp>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace superstep::detail {

namespace {

/// Returns one interceptor that handles the reviews of all tools; empty if no tool is reviewed.
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

/// Returns the model call that requests the structured response. An agent with tools requests it in
/// its answers only if the server is known to accept a response format beside tools. Ollama, and
/// many servers with chat completions, then suppress the tool calls or reject the request.
response_request request_of(const agent_spec& spec) {
  if (spec.response_request != response_request::by_rules)
    return spec.response_request;
  if (spec.tools.empty())
    return response_request::in_answer;
  const auto* provider = std::get_if<provider_model_options>(&spec.model);
  const auto is_in_answer = spec.response_method == structured_method::json_schema &&
                            spec.protocol.empty() && provider != nullptr &&
                            models::takes_format_beside_tools(*provider);
  return is_in_answer ? response_request::in_answer : response_request::separate;
}

response_format response_of(const agent_spec& spec) {
  auto out = response_format{};
  out.schema = *spec.response;
  out.method = spec.response_method;
  out.strict = spec.response_strict;
  out.retries = spec.response_retries;
  out.request = request_of(spec);
  return out;
}

} // namespace

compiled_graph<chat_state> make_agent_graph(const agent_spec& spec, const chat_model_ptr& model,
                                            const tool_list& tools, agent_graph_options given) {
  auto run = tool_node_options{};
  run.wrap_call = all_reviews(spec);
  run.limits = spec.limits.tools;
  run.calls_at_once = spec.limits.tool_calls; // calls that wait for a review are not counted
  if (std::ranges::any_of(given.middleware, [](const auto& m) { return bool{m.wrap_tool_call}; }))
    run.errors = react::errors_outside();
  auto options = agent_options<chat_state>{};
  options.rules = agent_rules::create_react_agent;
  options.name = spec.name;
  options.model = model;
  options.tools = tool_node{tools, std::move(run)};
  if (!spec.prompt.empty())
    options.prompt = spec.prompt;
  options.version = spec.version;
  if (spec.reviews.empty()) // a review interrupts the run, which an early call cannot do
    options.early_tools = spec.early_tools;
  options.checkpointer = std::move(given.checkpointer);
  options.store = std::move(given.memory);
  options.answer_invalid_calls = true;
  options.follows_context = given.follows_context;
  options.middleware = std::move(given.middleware);
  if (spec.trim)
    options.pre_model_hook = make_trim_hook(*spec.trim);
  if (spec.summarise)
    options.pre_model_hook = make_summary_hook(*spec.summarise, model);
  if (spec.response)
    options.response = response_of(spec);
  return create_agent(std::move(options));
}

} // namespace superstep::detail

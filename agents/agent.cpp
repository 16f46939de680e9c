// SPDX-License-Identifier: Apache-2.0
// The class agent: the parsed agent file, its model and tools, and the graph compiled from them.
// Also computes the fingerprints by which a batch job detects that its agent was changed.
#include "agents/agent_graph.hpp"

#include <superstep/agents/agent_file.hpp>

#include <utility>

namespace superstep {

agent::agent(agent_spec spec, chat_model_ptr model, tool_list tools,
             std::vector<sub_agent> sub_agents)
    : spec_{std::move(spec)}, model_{std::move(model)}, tools_{std::move(tools)},
      sub_agents_{std::move(sub_agents)},
      graph_{detail::make_agent_graph(spec_, model_, tools_, {})} {}

std::string agent::fingerprint() const {
  auto out = json::object{};
  out["name"] = spec_.name;
  out["prompt"] = spec_.prompt;
  out["version"] = spec_.version == react_version::v1 ? "v1" : "v2";
  out["recursion_limit"] = spec_.recursion_limit;
  // A key that the file does not set is omitted from the fingerprint. Fingerprints of old jobs
  // therefore stay valid when a later version of superstep adds a key.
  if (spec_.response)
    out["response"] = *spec_.response;
  if (spec_.response && spec_.response_method != structured_method::json_schema)
    out["response_method"] =
        spec_.response_method == structured_method::tool_call ? "tool_call" : "json_object";
  if (spec_.response && spec_.response_strict == strict_mode::off)
    out["response_strict"] = "off";
  if (spec_.response && spec_.response_request != response_request::by_rules)
    out["response_request"] =
        spec_.response_request == response_request::separate ? "separate" : "in_answer";
  if (spec_.input)
    out["input"] = spec_.input->text();
  if (spec_.trim)
    out["trim"] = spec_.trim->tokens_max;
  return to_canonical_text(out);
}

std::string agent::tools_fingerprint() const {
  auto out = json::array{};
  for (const auto& tool : tools_) {
    const auto& definition = tool->definition();
    auto one = json::object{};
    one["name"] = definition.name;
    one["description"] = definition.description;
    one["parameters"] = definition.parameters;
    out.push_back(std::move(one));
  }
  auto text = spec_.tools_text + to_canonical_text(out);
  for (const auto& below : sub_agents_)
    text += below.tool + below.agent->fingerprint() + below.agent->tools_fingerprint() +
            below.agent->model()->fingerprint();
  return text;
}

} // namespace superstep

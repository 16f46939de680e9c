// SPDX-License-Identifier: Apache-2.0
// Builds the graph that `superstep graph` draws. Sub-agents are tools of an agent and not nodes of
// its graph. So the drawn graph is a copy in which they are nodes.
#include "cli/agent_picture.hpp"

#include <superstep/runtime/drawing.hpp>
#include <superstep/runtime/json_graph.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace superstep::cli {

namespace {

constexpr auto tools_node = "tools";

/// The body of all nodes in a drawing, which are never run.
json::value nothing(const json::value&) {
  return nullptr;
}

/// Returns a unique name for the node of a sub-agent. Node names must be unique over all levels,
/// because a drawing identifies clusters by name. Characters that are allowed in tool names but not
/// in node names are replaced.
std::string free_name(std::string name, std::set<std::string>& taken) {
  std::ranges::replace_if(
      name, [](char c) { return c == ':' || c == '|'; }, '_');
  while (name.empty() || !taken.insert(name).second)
    name += '_';
  return name;
}

/// Returns a copy of an agent's graph for drawing. The nodes have no bodies, and each sub-agent is
/// an additional node.
compiled_json_graph copy_of(const agent& drawn, bool expand, std::set<std::string>& taken) {
  const auto shape = to_graph_json(*detail::program_of(drawn.graph()));
  auto out = json_graph{};
  out.channel("messages");
  auto own = std::set<std::string>{};
  for (const auto& node : shape.at("nodes").as_array()) {
    const auto id = std::string{node.at("id").as_string()};
    if (!id.starts_with("__") && own.insert(id).second)
      out.add(id, nothing);
  }
  auto branches = std::map<std::string, json_path_map>{};
  for (const auto& edge : shape.at("edges").as_array()) {
    const auto from = std::string{edge.at("source").as_string()};
    const auto to = std::string{edge.at("target").as_string()};
    const auto* chosen = edge.get_object().if_contains("conditional");
    if (chosen != nullptr && chosen->as_bool())
      branches[from].emplace_back(to, to);
    else
      out.edge(from, to);
  }
  taken.merge(own);
  for (const auto& below : drawn.sub_agents()) {
    const auto name = free_name(below.tool, taken);
    if (expand)
      out.add(name, copy_of(*below.agent, true, taken));
    else
      out.add(name, nothing);
    branches[tools_node].emplace_back(name, name);
    out.edge(name, tools_node); // the agent's answer is the result of the call
  }
  for (auto& [from, to] : branches)
    out.branch(
        from, [](const json::value&) { return std::string{}; }, std::move(to));
  return out.compile();
}

} // namespace

detail::program_ptr picture_of(const agent& drawn, bool expand) {
  auto taken =
      std::set<std::string>{std::string{detail::start_node}, std::string{detail::end_node}};
  return drawn.sub_agents().empty() ? detail::program_of(drawn.graph())
                                    : detail::program_of(copy_of(drawn, expand, taken));
}

} // namespace superstep::cli

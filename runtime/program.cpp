// SPDX-License-Identifier: Apache-2.0
// Looks up nodes, and the targets that bodies and routers name, in a compiled graph.
// program_builder.cpp creates programs.
#include <superstep/runtime/detail/program.hpp>

#include <algorithm>

namespace superstep {

std::uint32_t detail::program::find(std::string_view name) const noexcept {
  const auto by_name = [](const auto& node, std::string_view n) { return node->name < n; };
  const auto found = std::lower_bound(nodes_.begin(), nodes_.end(), name, by_name);
  if (found == nodes_.end() || (*found)->name != name)
    return no_node;
  return static_cast<std::uint32_t>(found - nodes_.begin());
}

std::uint32_t detail::program::target(std::string_view name) const {
  const auto found = find(name);
  if (found == no_node && !options_.ignore_unknown_targets)
    throw graph_error{graph_errc::unknown_node, "graph '" + options_.name + "' has no node '" +
                                                    std::string{name} + "' to go to"};
  return found;
}

void detail::program::go_to(node_output& out, std::string_view name) const {
  if (name == detail::end_node)
    return;
  const auto to = target(name);
  if (to == no_node)
    return;
  if (nodes_[to]->takes_payload)
    throw graph_error{graph_errc::invalid_update,
                      "node '" + nodes_[to]->name +
                          "' is activated by Sends only: send it an input"};
  out.targets.push_back(to);
}

void detail::program::send_to(node_output& out, std::string_view name, value input) const {
  if (name == detail::end_node)
    throw graph_error{graph_errc::invalid_update, "a Send cannot go to END"};
  // Consecutive Sends usually go to the same node, so its name is looked up only once.
  const auto same = !out.sends.empty() && nodes_[out.sends.back().node]->name == name;
  const auto to = same ? out.sends.back().node : target(name);
  if (to != no_node)
    out.sends.push_back({to, {}, std::move(input)});
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// Checks a program whose edges are connected: finds suspicious nodes (warnings) and types that the
// checkpointer could not save (faults). program_builder::compile() calls it.
#include "graph_check.hpp"

#include <superstep/checkpoint/checkpointer.hpp>

#include <algorithm>
#include <optional>

namespace superstep::detail {

namespace {

using node_list = std::vector<std::uint32_t>;

fault suspicious(const node_entry& node, std::string text) {
  return {graph_errc::invalid_graph, node.name, "node '" + node.name + "' " + std::move(text)};
}

/// The nodes that may run after a node, as far as the graph declares them.
struct ways {
  node_list to;
  bool may_be_anywhere = false;
  bool may_be_end = false;
};

/// Collects the targets of a node: edges, declared targets of branches and commands, and the error
/// handler. The callers add the targets of joins. A run may end after a node without edges, joins
/// and branches.
ways ways_from(const program& table, const node_entry& node) {
  auto out = ways{};
  const auto add = [&](std::string_view name) {
    const auto to = table.find(name);
    if (to == program::no_node)
      out.may_be_end = true;
    else
      out.to.push_back(to);
  };
  out.to = node.edges;
  out.may_be_end =
      node.has_end_edge || (node.edges.empty() && node.joins.empty() && node.branches.empty());
  for (const auto& branch : node.branches) {
    out.may_be_anywhere = out.may_be_anywhere || branch.declared.empty();
    for (const auto& [label, to] : branch.declared)
      add(to);
  }
  for (const auto& to : node.options.destinations)
    add(to);
  if (node.handler != program::no_node)
    out.to.push_back(node.handler);
  if (node.body && node.body->gives_commands() && node.options.destinations.empty())
    out.may_be_anywhere = true;
  return out;
}

/// Returns, by node number, whether a run may reach the node; empty if a router or command in the
/// reached part of the graph may choose any node.
std::optional<std::vector<bool>> reachable(const program& table) {
  auto is_reached = std::vector<bool>(table.nodes().size());
  auto arrived = std::vector<std::size_t>(table.joins().size());
  auto todo = node_list{program::no_node};
  const auto reach = [&](std::uint32_t node) {
    if (is_reached[node])
      return;
    is_reached[node] = true;
    todo.push_back(node);
  };
  while (!todo.empty()) {
    const auto& node = table.node(todo.back());
    todo.pop_back();
    const auto next = ways_from(table, node);
    if (next.may_be_anywhere)
      return std::nullopt;
    std::ranges::for_each(next.to, reach);
    for (const auto [join, member] : node.joins) {
      // the target of a join is reached only if all of the join's sources are
      if (++arrived[join] == table.joins()[join].sources.size())
        reach(table.joins()[join].target);
    }
  }
  return is_reached;
}

/// Returns, by node number, whether a run may end after the node or after a node that follows it.
std::vector<bool> ending(const program& table) {
  const auto count = table.nodes().size();
  auto sources = std::vector<node_list>(count); // by node number: the sources of its incoming edges
  auto ends = std::vector<bool>(count);
  auto todo = node_list{};
  for (auto i = std::uint32_t{0}; i < count; ++i) {
    const auto next = ways_from(table, table.node(i));
    for (const auto to : next.to)
      sources[to].push_back(i);
    for (const auto [join, member] : table.node(i).joins)
      sources[table.joins()[join].target].push_back(i);
    if (!next.may_be_end && !next.may_be_anywhere)
      continue;
    ends[i] = true;
    todo.push_back(i);
  }
  while (!todo.empty()) {
    const auto node = todo.back();
    todo.pop_back();
    for (const auto from : sources[node]) {
      if (ends[from])
        continue;
      ends[from] = true;
      todo.push_back(from);
    }
  }
  return ends;
}

/// Returns, by node number, the step in which the node first runs if only plain edges are followed;
/// 0 if plain edges do not lead to it.
std::vector<std::size_t> depths(const program& table) {
  auto depth = std::vector<std::size_t>(table.nodes().size());
  auto now = node_list{program::no_node};
  for (auto step = std::size_t{1}; !now.empty(); ++step) {
    auto next = node_list{};
    for (const auto node : now) {
      for (const auto to : table.node(node).edges) {
        if (depth[to] != 0)
          continue;
        depth[to] = step;
        next.push_back(to);
      }
    }
    now = std::move(next);
  }
  return depth;
}

/// Adds a warning for each node that plain edges reach in different steps, because such a node runs
/// once in each of these steps. Deferred nodes are left out, because they run only once.
void find_unequal(const program& table, std::vector<fault>& found) {
  const auto depth = depths(table);
  struct feeder {
    std::uint32_t node = program::no_node;
    std::size_t depth = 0;
    bool is_set = false;
  };
  auto first = std::vector<feeder>(table.nodes().size());
  auto is_reported = std::vector<bool>(table.nodes().size());
  const auto feed = [&](std::uint32_t from, std::size_t at) {
    for (const auto to : table.node(from).edges) {
      auto& f = first[to];
      if (!f.is_set)
        f = {from, at, true};
      if (f.depth == at || is_reported[to] || table.node(to).is_deferred)
        continue;
      is_reported[to] = true;
      found.push_back(suspicious(
          table.node(to), "runs more than once: its edges from '" + table.node(f.node).name +
                              "' (step " + std::to_string(f.depth) + ") and '" +
                              table.node(from).name + "' (step " + std::to_string(at) +
                              ") fire in different steps; make them one join, or defer the node"));
    }
  };
  feed(program::no_node, 0);
  for (auto i = std::uint32_t{0}; i < depth.size(); ++i) {
    if (depth[i] != 0)
      feed(i, depth[i]);
  }
}

} // namespace

std::vector<fault> find_warnings(const program& table, bool lint) {
  auto found = std::vector<fault>{};
  const auto reached = reachable(table);
  const auto ends = ending(table);
  for (const auto i : table.declaration_order()) {
    if (reached && !(*reached)[i])
      found.push_back(suspicious(table.node(i), "never runs: nothing leads to it from START"));
    else if (!ends[i])
      found.push_back(suspicious(
          table.node(i), "never leads to END: a run that reaches it ends at the recursion limit"));
  }
  if (lint)
    find_unequal(table, found);
  return found;
}

namespace {

constexpr auto unstorable_advice =
    ", which a checkpointer cannot save: describe the type (BOOST_DESCRIBE_STRUCT), specialise "
    "stored_form for it, or keep the field out of checkpoints (untracked_rule)";

/// Adds a fault for each type of a graph and of its subgraphs that has no stored form.
/// @param within names the subgraph in the text; empty for the outermost graph
void find_unstorable_in(const program& table, const std::string& within, std::vector<fault>& out) {
  for (const auto& c : table.channels()) {
    if (c->is_kept() && c->stored_type().empty())
      out.push_back({graph_errc::invalid_graph,
                     {},
                     within + "field '" + c->name() + "' has the type " + c->value_type_name() +
                         unstorable_advice});
  }
  for (const auto& node : table.nodes()) {
    if (!node->body)
      continue;
    if (node->takes_payload && node->body->input_form() == nullptr)
      out.push_back({graph_errc::invalid_graph, node->name,
                     within + "node '" + node->name + "' takes Sends with an input of type " +
                         type_name(node->body->input_type()) +
                         ", and a checkpointer cannot save pending Sends of this type: describe "
                         "the type (BOOST_DESCRIBE_STRUCT) or specialise stored_form for it"});
    const auto child = node->body->nested();
    if (child && child->options().persistence != persistence::none)
      find_unstorable_in(*child, within + "subgraph '" + node->name + "': ", out);
  }
}

} // namespace

std::string start_in_join(std::string_view target) {
  const auto name = "'" + std::string{target} + "'";
  return "START cannot be part of the join to " + name + "; use edge() to start " + name +
         " with the run";
}

std::vector<fault> find_unstorable(const program& table) {
  auto out = std::vector<fault>{};
  const auto& checkpointer = table.options().checkpointer;
  if (checkpointer && checkpointer->needs_stored_forms())
    find_unstorable_in(table, {}, out);
  return out;
}

} // namespace superstep::detail

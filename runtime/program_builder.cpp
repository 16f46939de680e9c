// SPDX-License-Identifier: Apache-2.0
// Collects the nodes and edges of a graph from a front end, checks them, and compiles the graph to
// a program: sorts nodes by name, resolves names to numbers, and reports all faults at once.
// graph_check.cpp adds the warnings.
#include "graph_check.hpp"

#include <superstep/base/detail/wrong_type.hpp>
#include <superstep/runtime/detail/program.hpp>
#include <superstep/runtime/update.hpp>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace superstep {

std::vector<std::string> detail::owned_names(std::initializer_list<node_name> nodes) {
  auto out = std::vector<std::string>{};
  for (const auto& each : nodes)
    out.emplace_back(each.name());
  return out;
}

detail::program_builder::program_builder() = default;
detail::program_builder::program_builder(program_builder&&) noexcept = default;
detail::program_builder& detail::program_builder::operator=(program_builder&&) noexcept = default;
detail::program_builder::~program_builder() = default;

/// Throws if the parts have moved into a program.
void detail::program_builder::expect_open() const {
  if (is_used_up_)
    throw compile_error{{{graph_errc::invalid_graph,
                          {},
                          "the graph is already compiled, so it takes no further parts; build "
                          "another graph"}}};
}

std::uint32_t detail::program_builder::add_channel(std::unique_ptr<const channel> c) {
  expect_open();
  channels_.push_back(std::move(c));
  return static_cast<std::uint32_t>(channels_.size() - 1);
}

void detail::program_builder::add_node(std::string name,
                                       std::unique_ptr<const detail::node_body> body,
                                       bool takes_payload, node_options options) {
  expect_open();
  auto entry = std::make_unique<detail::node_entry>();
  entry->name = std::move(name);
  entry->body = std::move(body);
  entry->takes_payload = takes_payload;
  entry->is_deferred = options.defer;
  entry->options = std::move(options);
  nodes_.push_back(std::move(entry));
}

std::string detail::handler_name(const std::string& node) {
  return node.empty() ? "__default_error_handler__" : "__error_handler__" + node;
}

void detail::program_builder::add_error_handler(const std::string& node,
                                                std::unique_ptr<const detail::node_body> body,
                                                bool takes_payload, node_options options) {
  expect_open();
  const auto name = handler_name(node);
  const auto is_taken = [&](const auto& n) { return n->name == name; };
  if (std::any_of(nodes_.begin(), nodes_.end(), is_taken)) {
    handler_faults_.push_back(node.empty()
                                  ? std::string{"the graph already has a default error handler"}
                                  : "node '" + node + "' already has an error handler");
    return;
  }
  add_node(name, std::move(body), takes_payload, std::move(options));
  nodes_.back()->is_handler = true;
  handlers_.emplace_back(node, name);
}

void detail::program_builder::set_error_handler(std::unique_ptr<const detail::node_body> body,
                                                node_options options) {
  add_error_handler({}, std::move(body), false, std::move(options));
}

void detail::program_builder::fill_defaults() {
  for (auto& n : nodes_) {
    auto& own = n->options;
    if (own.retry.empty())
      own.retry = defaults_.retry;
    if (!own.timeout)
      own.timeout = defaults_.timeout;
    if (!own.cache && !n->is_handler)
      own.cache = defaults_.cache;
  }
}

/// Connects nodes with their error handlers. Handlers have none, so the failure of a handler fails
/// the run.
void detail::program_builder::connect_handlers(detail::program& table) const {
  for (const auto& [node, handler] : handlers_) {
    const auto found = table.find(handler);
    SUPERSTEP_ASSERT(found != detail::program::no_node); // add_error_handler() has added it
    if (!node.empty()) {
      table.nodes_[table.find(node)]->handler = found;
      continue;
    }
    for (auto& n : table.nodes_)
      if (!n->is_handler && n->handler == detail::program::no_node)
        n->handler = found;
  }
}

void detail::program_builder::add_edge(std::vector<std::string> sources, std::string target) {
  expect_open();
  edges_.push_back({std::move(sources), std::move(target)});
}

void detail::program_builder::add_branch(
    std::string source, std::unique_ptr<const detail::router> r,
    std::vector<std::pair<std::string, std::string>> declared) {
  expect_open();
  branches_.push_back({std::move(source), {std::move(r), std::move(declared)}});
}

void detail::program_builder::add_sequence(std::vector<std::string> names) {
  if (names.empty())
    faults_.push_back({graph_errc::invalid_graph, {}, "sequence() needs at least one node"});
  auto seen = std::set<std::string_view>{};
  for (const auto& name : names) {
    if (!seen.insert(name).second)
      faults_.push_back(
          {graph_errc::invalid_graph, name, "sequence() names node '" + name + "' more than once"});
  }
  for (auto i = std::size_t{1}; i < names.size(); ++i)
    add_edge({names[i - 1]}, names[i]);
}

/// Creates the layout of the program: what checkpoints need to know about the graph.
std::shared_ptr<graph_layout> detail::program_builder::make_layout(program& table) {
  auto layout = std::make_shared<graph_layout>();
  layout->graph = table.options_.name;
  layout->make_state = std::move(make_state_);
  if (layout->make_state) {
    const auto blank = layout->make_state();
    // a variable, because clang warns about an expression inside typeid
    const auto& example = *blank;
    table.state_type_ = &typeid(example);
  }
  layout->channels = std::move(channels_);
  layout->convert = table.options_.convert;
  layout->error_categories = {&make_error_code(graph_errc{}).category()};
  table.layout_ = layout;
  return layout;
}

void detail::program_builder::list_transient_channels(program& table) {
  // Transient channels are emptied in steps that do not write them. They are listed here, so that
  // steps need not ask every channel.
  for (auto i = std::uint32_t{0}; i < table.layout_->channels.size(); ++i) {
    const auto& c = *table.layout_->channels[i];
    if (!c.wants_empty_update())
      continue;
    table.transient_.push_back(i);
    table.may_fail_to_empty_ = table.may_fail_to_empty_ || c.may_fail_to_empty();
  }
}

void detail::program_builder::sort_nodes(program& table) {
  // Nodes are sorted by name, so that the order of their numbers is the order of task paths.
  auto order = std::vector<std::size_t>(nodes_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return nodes_[a]->name < nodes_[b]->name; });
  table.declared_.resize(nodes_.size());
  for (auto i = std::size_t{0}; i < order.size(); ++i) {
    table.declared_[order[i]] = static_cast<std::uint32_t>(i);
    table.nodes_.push_back(std::move(nodes_[order[i]]));
  }
}

detail::program_ptr detail::program_builder::compile(compile_options options,
                                                     std::vector<std::uint32_t> output,
                                                     std::shared_ptr<const json_layout> json) {
  // The parts move into the program, so the builder cannot be used a second time.
  if (std::exchange(is_used_up_, true))
    throw compile_error{
        {{graph_errc::invalid_graph,
          {},
          "compile() was called twice: copy the compiled graph, or build the graph again"}}};
  auto table = std::make_shared<detail::program>();
  table->options_ = std::move(options);
  table->output_ = std::move(output);
  table->json_ = std::move(json);
  std::ranges::sort(table->output_); // is searched for each written channel
  table->entry_.name = detail::start_node;
  const auto layout = make_layout(*table);
  // The default handler is connected last, because it is for nodes without a handler of their own.
  std::stable_partition(handlers_.begin(), handlers_.end(),
                        [](const auto& h) { return !h.first.empty(); });
  fill_defaults();
  table->times_nodes_ = std::any_of(nodes_.begin(), nodes_.end(),
                                    [](const auto& n) { return n->options.timeout.has_value(); });
  list_transient_channels(*table);
  sort_nodes(*table);
  // Edges are connected only if there are no faults, because connect() relies on the named nodes to
  // exist.
  auto faults = check(*table);
  for (auto& unstorable : detail::find_unstorable(*table))
    faults.push_back(std::move(unstorable));
  if (!faults.empty())
    throw compile_error{std::move(faults)};
  connect(*table);
  for (const auto& n : table->nodes_)
    layout->nodes.push_back({n->name, n->body ? n->body->input_form() : nullptr});
  layout->joins = table->joins_;
  connect_handlers(*table);
  table->warnings_ = detail::find_warnings(*table, table->options_.lint);
  if (table->options_.strict && !table->warnings_.empty())
    throw compile_error{table->warnings_};
  return table;
}

namespace {

fault invalid(std::string_view node, std::string text) {
  return {graph_errc::invalid_graph, std::string{node}, std::move(text)};
}

bool limits_something(const timeout_policy& p) noexcept {
  const auto is_valid = [](const auto& limit) { return !limit || limit->count() > 0; };
  return (p.run || p.idle) && is_valid(p.run) && is_valid(p.idle);
}

/// Returns the name of the node if a name has the form of the task of a Send to it, `node#0`; empty
/// otherwise. The two tasks would have one record in a checkpoint.
std::string_view sent_node(std::string_view name) {
  const auto mark = name.find_last_not_of("0123456789");
  return mark != name.npos && mark + 1 < name.size() && name[mark] == '#' ? name.substr(0, mark)
                                                                          : std::string_view{};
}

} // namespace

void detail::program_builder::check_target(const detail::program& table, std::string_view target,
                                           std::string_view from,
                                           std::vector<fault>& faults) const {
  if (target == detail::start_node)
    faults.push_back(invalid(from, "START cannot be an end node"));
  else if (target != detail::end_node && table.find(target) == detail::program::no_node)
    faults.push_back({graph_errc::unknown_node, std::string{from},
                      "Found edge ending at unknown node `" + std::string{target} + "`"});
}

void detail::program_builder::check_edge(const detail::program& table, const edge& e,
                                         std::vector<fault>& faults) const {
  if (e.sources.empty())
    faults.push_back(invalid(e.target, "the join to '" + e.target +
                                           "' has no sources: name the nodes that it waits for"));
  for (const auto& source : e.sources) {
    if (source == detail::end_node)
      faults.push_back(invalid(source, "END cannot be a start node"));
    else if (source == detail::start_node && e.sources.size() > 1)
      faults.push_back(invalid(source, start_in_join(e.target)));
    else if (source != detail::start_node && table.find(source) == detail::program::no_node)
      faults.push_back({graph_errc::unknown_node, source,
                        "Found edge starting at unknown node '" + source + "'"});
  }
  check_target(table, e.target, e.sources.empty() ? std::string_view{} : e.sources.front(), faults);
  const auto to = table.find(e.target);
  if (to != detail::program::no_node && table.node(to).takes_payload)
    faults.push_back(
        invalid(e.target, "node '" + e.target +
                              "' is activated by Sends only: it cannot be the target of "
                              "an edge"));
}

/// A handler gets the input of its node, so both must take the same type.
void detail::program_builder::check_handlers(const detail::program& table,
                                             std::vector<fault>& faults) const {
  for (const auto& text : handler_faults_)
    faults.push_back(invalid({}, text));
  for (const auto& [node, handler] : handlers_) {
    if (node.empty())
      continue;
    const auto found = table.find(node);
    if (found == detail::program::no_node) {
      faults.push_back({graph_errc::unknown_node, node,
                        "an error handler is set for node '" + node + "', which does not exist"});
      continue;
    }
    const auto& wanted = table.node(found).body->input_type();
    const auto& taken = table.node(table.find(handler)).body->input_type();
    if (taken != wanted)
      faults.push_back(invalid(node, "the error handler of node '" + node + "' takes " +
                                         type_name(taken) + ", but the node takes " +
                                         type_name(wanted)));
  }
}

std::vector<fault> detail::program_builder::check(const detail::program& table) const {
  auto faults = faults_;
  for (auto i = std::size_t{0}; i < table.nodes_.size(); ++i) {
    const auto& name = table.nodes_[i]->name;
    if (i > 0 && table.nodes_[i - 1]->name == name)
      faults.push_back(invalid(name, "Node `" + name + "` already present."));
    if (name == detail::start_node || name == detail::end_node || name.empty())
      faults.push_back(invalid(name, "Node `" + name + "` is reserved."));
    if (const auto bad = name.find_first_of("|:"); bad != std::string::npos)
      faults.push_back(invalid(name, "'" + name.substr(bad, 1) +
                                         "' is a reserved character and is not allowed in the node "
                                         "names."));
    if (const auto task_of = sent_node(name); !task_of.empty())
      faults.push_back(invalid(name, "Node `" + name +
                                         "` ends in '#' and a number, which is reserved for the "
                                         "tasks of Sends to node `" +
                                         std::string{task_of} + "`"));
    for (const auto& to : table.nodes_[i]->options.destinations)
      check_target(table, to, name, faults);
    if (const auto& limit = table.nodes_[i]->options.timeout; limit && !limits_something(*limit))
      faults.push_back(invalid(name, "node '" + name + "': its timeout must be greater than 0"));
  }
  if (const auto& limit = table.options().step_timeout; limit && limit->count() <= 0)
    faults.push_back(invalid({}, "step_timeout must be greater than 0"));
  auto names = std::set<std::string_view>{};
  for (const auto& c : table.channels()) {
    if (!names.insert(c->name()).second)
      faults.push_back(invalid({}, "Channel '" + c->name() + "' already exists"));
  }
  for (const auto* list : {&table.options_.interrupt_before, &table.options_.interrupt_after})
    for (const auto& name : *list)
      if (name != "*" && table.find(name) == detail::program::no_node)
        faults.push_back(
            {graph_errc::unknown_node, name, "Interrupt node `" + name + "` not found"});
  check_handlers(table, faults);
  auto has_entry = false;
  for (const auto& e : edges_) {
    check_edge(table, e, faults);
    has_entry = has_entry || (e.sources.size() == 1 && e.sources.front() == detail::start_node);
  }
  for (const auto& b : branches_) {
    if (b.source != detail::start_node && table.find(b.source) == detail::program::no_node)
      faults.push_back({graph_errc::unknown_node, b.source,
                        "Found edge starting at unknown node '" + b.source + "'"});
    for (const auto& [label, to] : b.entry.declared) {
      if (to != detail::end_node && table.find(to) == detail::program::no_node)
        faults.push_back(
            {graph_errc::unknown_node, b.source,
             "At '" + b.source + "' node, a branch found unknown target '" + to + "'"});
    }
    has_entry = has_entry || b.source == detail::start_node;
  }
  if (!has_entry)
    faults.push_back(invalid({},
                             "Graph must have an entrypoint: add at least one edge from START to "
                             "another node"));
  return faults;
}

void detail::program_builder::connect(detail::program& table) {
  const auto node_of = [&](std::string_view name) -> detail::node_entry& {
    return name == detail::start_node ? table.entry_ : *table.nodes_[table.find(name)];
  };
  auto known = std::set<std::pair<const detail::node_entry*, std::uint32_t>>{};
  for (auto& e : edges_) {
    if (e.target == detail::end_node) {
      for (const auto& source : e.sources)
        node_of(source).has_end_edge = true;
      continue;
    }
    const auto to = table.find(e.target);
    SUPERSTEP_ASSERT(to != detail::program::no_node); // check() has reported unknown nodes
    if (e.sources.size() == 1) {
      auto& from = node_of(e.sources.front());
      if (known.emplace(&from, to).second) // a duplicate edge has no effect, as in LangGraph
        from.edges.push_back(to);
      continue;
    }
    const auto join = static_cast<std::uint32_t>(table.joins_.size());
    for (auto member = std::uint32_t{0}; member < e.sources.size(); ++member)
      node_of(e.sources[member]).joins.push_back({join, member});
    table.nodes_[to]->joins_in.push_back(join);
    table.joins_.push_back({std::move(e.sources), to});
  }
  for (auto& b : branches_)
    node_of(b.source).branches.push_back(std::move(b.entry));
}

} // namespace superstep

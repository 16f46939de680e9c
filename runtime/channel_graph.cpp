// SPDX-License-Identifier: Apache-2.0
// The part of the channel_graph front end that does not depend on the types of its channels.
// runtime/detail/channel_body.hpp contains the templates for bodies and routers.
#include <superstep/runtime/channel_graph.hpp>

namespace superstep {

namespace detail {

void throw_other_graph() {
  throw graph_error{graph_errc::invalid_update,
                    "the channel handle belongs to another graph: use a handle that this graph has "
                    "returned"};
}

write_list own_writes(channel_writes writes, const channel_layout& layout) {
  auto own = write_list{};
  own.reserve(writes.size());
  for (auto& w : writes) {
    if (w.graph != &layout) // the index of the write would refer to another channel of this graph
      throw_other_graph();
    own.push_back(std::move(w.content));
  }
  return own;
}

void throw_takes_no_input(const body_input& given) {
  const auto& node = given.table->node(given.node).name;
  throw graph_error{
      run_error{make_error_code(graph_errc::invalid_update),
                "node '" + node +
                    "' reads channels, so a Send to it cannot have an input: leave out the input, "
                    "or add the node with worker()",
                node,
                given.step,
                node,
                1,
                {}}};
}

} // namespace detail

channel_graph::channel_graph() : layout_{std::make_shared<detail::channel_layout>()} {
  // The program keeps the layout alive, because bodies refer to it and each run starts with a copy
  // of its initial state.
  builder_.set_state([layout = std::shared_ptr<const detail::channel_layout>{layout_}] {
    return layout->blank.copy();
  });
}

channel_graph& channel_graph::edge(node_name from, node_name to) {
  builder_.add_edge({std::string{from.name()}}, std::string{to.name()});
  return *this;
}

channel_graph& channel_graph::edge(std::initializer_list<node_name> from, node_name to) {
  builder_.add_edge(detail::owned_names(from), std::string{to.name()});
  return *this;
}

channel_graph& channel_graph::sequence(std::initializer_list<node_name> nodes) {
  builder_.add_sequence(detail::owned_names(nodes));
  return *this;
}

void channel_graph::add_branch(node_name from, std::unique_ptr<const detail::router> route,
                               std::initializer_list<node_name> declared) {
  auto names = std::vector<std::pair<std::string, std::string>>{};
  for (const auto& d : declared)
    names.emplace_back(std::string{d.name()}, std::string{d.name()});
  builder_.add_branch(std::string{from.name()}, std::move(route), std::move(names));
}

compiled_graph<channel_values> channel_graph::compile(compile_options options) {
  return detail::graph_access::make<channel_values>(builder_.compile(std::move(options)),
                                                    {layout_.get()});
}

void channel_graph::check_own(const detail::channel_layout* graph) const {
  if (graph != layout_.get())
    detail::throw_other_graph();
}

/// Stores the name of a node for the lifetime of the program, because node constants refer to it as
/// string views.
std::string_view channel_graph::keep(const std::string& name) {
  return layout_->node_names.emplace_back(name);
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/detail/fwd.hpp>
#include <superstep/runtime/detail/node_body.hpp>
#include <superstep/runtime/node_options.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

namespace superstep::detail {

/// The name of the entry of every graph, as in LangGraph.
inline constexpr std::string_view start_node = "__start__";
/// The name of the end of every graph, as in LangGraph.
inline constexpr std::string_view end_node = "__end__";

/// A branch: a router and its declared targets (label, node), for drawing.
struct branch_entry {
  std::unique_ptr<const detail::router> router;
  std::vector<std::pair<std::string, std::string>> declared;
};

/// A source of a join: the index of the join, and of the source among its members.
struct join_member {
  std::uint32_t join;
  std::uint32_t member;
};

/// A node of a program.
struct node_entry {
  std::string name;
  std::unique_ptr<const node_body> body;
  node_options options;
  bool takes_payload = false; ///< activated by Sends only: its input is not the state
  bool is_deferred = false;   ///< see node_options::defer
  bool has_end_edge = false;  ///< has an edge to END, which activates no node
  std::vector<std::uint32_t> edges;
  std::vector<join_member> joins;
  std::vector<branch_entry> branches;
  /// The node's error handler. It runs in the same step when an activation has failed and is not
  /// retried. Its output replaces the activation's, and the edges of this node do not fire.
  /// no_node: the run fails.
  std::uint32_t handler = ~std::uint32_t{0};
  bool is_handler = false; ///< an error handler of other nodes; no edge leads to it
  /// The engine's running estimate of whether the body blocks. A hint: results do not depend on it.
  mutable std::atomic<int> slowness{0};
};

using join_entry = graph_layout::join;

/// A compiled graph in the form that the engine runs: channels, nodes, edges, branches. Every front
/// end compiles to it. Immutable and shared by all runs; nodes are sorted by name. Aligned to a
/// cache line because each run that starts or ends writes the reference count of its shared_ptr.
class alignas(64) program final {
public:
  static constexpr std::uint32_t no_node = ~std::uint32_t{0};

  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
  [[nodiscard]] const compile_options& options() const noexcept { return options_; }
  [[nodiscard]] const std::vector<std::unique_ptr<const channel>>& channels() const noexcept {
    return layout_->channels;
  }
  /// The layout that checkpoints of this program refer to.
  [[nodiscard]] const layout_ptr& layout() const noexcept { return layout_; }
  [[nodiscard]] const std::vector<std::unique_ptr<node_entry>>& nodes() const noexcept {
    return nodes_;
  }
  /// The node with this number, or the entry for no_node.
  [[nodiscard]] const node_entry& node(std::uint32_t i) const noexcept {
    return i == no_node ? entry_ : *nodes_[i];
  }
  [[nodiscard]] const std::vector<join_entry>& joins() const noexcept { return joins_; }
  /// The entry of the graph, which has edges and branches but no body.
  [[nodiscard]] const node_entry& entry() const noexcept { return entry_; }
  /// Channels that need an empty update in steps that do not write them.
  [[nodiscard]] const std::vector<std::uint32_t>& transient_channels() const noexcept {
    return transient_;
  }
  /// Whether emptying one of the transient channels may throw.
  [[nodiscard]] bool may_fail_to_empty() const noexcept { return may_fail_to_empty_; }
  /// Whether a node has a timeout.
  [[nodiscard]] bool times_nodes() const noexcept { return times_nodes_; }
  /// Creates a state with all channels at their initial values.
  [[nodiscard]] state_ptr make_state() const { return layout_->make_state(); }
  /// The type of the state_block that make_state() returns.
  [[nodiscard]] const std::type_info& state_type() const noexcept { return *state_type_; }
  [[nodiscard]] bool ignores_unknown_targets() const noexcept {
    return options_.ignore_unknown_targets;
  }

  /// Returns the index of a node by name, or no_node if there is no such node.
  [[nodiscard]] std::uint32_t find(std::string_view name) const noexcept;
  /// Adds a target by name to an output; END adds nothing. Throws graph_error{unknown_node} unless
  /// unknown targets are ignored.
  void go_to(node_output&, std::string_view name) const;
  /// Adds a Send to an output. Throws graph_error{unknown_node} unless unknown targets are ignored.
  void send_to(node_output&, std::string_view name, value input) const;

  /// The faults that compile() accepted: unreachable nodes, and nodes that cannot reach END.
  [[nodiscard]] const std::vector<fault>& warnings() const noexcept { return warnings_; }

  /// Returns the graph as Mermaid text in LangGraph's layout; see drawing.hpp for options.
  [[nodiscard]] std::string mermaid() const;
  /// Node numbers in the order of declaration, for drawing.
  [[nodiscard]] const std::vector<std::uint32_t>& declaration_order() const noexcept {
    return declared_;
  }

private:
  friend class program_builder;
  [[nodiscard]] std::uint32_t target(std::string_view name) const;

  compile_options options_;
  layout_ptr layout_;
  std::vector<std::unique_ptr<node_entry>> nodes_;
  std::vector<join_entry> joins_;
  node_entry entry_;
  std::vector<std::uint32_t> transient_;
  bool may_fail_to_empty_ = false;
  const std::type_info* state_type_ = &typeid(void);
  bool times_nodes_ = false;
  std::vector<std::uint32_t> declared_;
  std::vector<fault> warnings_;
};

using program_ptr = std::shared_ptr<const program>;

/// Collects the parts of a graph and checks them. Used by the front ends graph<State>,
/// channel_graph and json_graph; not for users.
class program_builder {
public:
  /// Adds a channel and returns its number.
  std::uint32_t add_channel(std::unique_ptr<const channel> c);
  /// Sets the function that creates a state with initial values.
  void set_state(std::function<state_ptr()> make) { make_state_ = std::move(make); }
  /// Adds a node.
  /// @param takes_payload whether it is activated by Sends only
  void add_node(std::string name, std::unique_ptr<const node_body> body, bool takes_payload,
                node_options options);
  /// Adds an error handler of a node, named `__error_handler__NODE`.
  void add_error_handler(const std::string& node, std::unique_ptr<const node_body> body,
                         bool takes_payload, node_options options);
  /// Sets the error handler of all nodes without one of their own, named
  /// `__default_error_handler__`.
  void set_error_handler(std::unique_ptr<const node_body> body, node_options options);
  /// Sets the retry, cache and timeout of nodes whose own options do not set them.
  void set_defaults(node_options options) { defaults_ = std::move(options); }
  /// Adds a fault that the front end found; compile() reports it with the others.
  void add_fault(fault f) { faults_.push_back(std::move(f)); }
  /// Adds an edge if there is one source, or a join, which fires when all sources have run.
  void add_edge(std::vector<std::string> sources, std::string target);
  /// Adds an edge from each node to the one that follows it.
  void add_sequence(std::vector<std::string> names);
  /// Adds a branch.
  /// @param declared its possible targets (label, node)
  void add_branch(std::string source, std::unique_ptr<const router> r,
                  std::vector<std::pair<std::string, std::string>> declared);

  /// Checks the graph and returns the program. Throws compile_error with every fault. May be called
  /// once: the parts move into the program.
  [[nodiscard]] program_ptr compile(compile_options options);

private:
  struct edge {
    std::vector<std::string> sources;
    std::string target;
  };
  struct branch {
    std::string source;
    branch_entry entry;
  };

  [[nodiscard]] std::vector<fault> check(const program&) const;
  void check_edge(const program&, const edge&, std::vector<fault>&) const;
  void check_target(const program&, std::string_view target, std::string_view from,
                    std::vector<fault>&) const;
  void connect(program&);
  void connect_handlers(program&) const;
  void fill_defaults();

  bool is_used_up_ = false;
  std::vector<fault> faults_; // found while the graph was built
  std::vector<std::unique_ptr<const channel>> channels_;
  std::vector<std::unique_ptr<node_entry>> nodes_;
  std::vector<edge> edges_;
  std::vector<branch> branches_;
  // node and its handler; an empty name: all other nodes
  std::vector<std::pair<std::string, std::string>> handlers_;
  std::vector<std::string> handler_faults_;
  node_options defaults_;
  std::function<state_ptr()> make_state_;
};

} // namespace superstep::detail

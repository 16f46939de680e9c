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

struct json_layout;

/// The name of the entry of every graph, as in LangGraph.
inline constexpr std::string_view start_node = "__start__";
/// The name of the end of every graph, as in LangGraph.
inline constexpr std::string_view end_node = "__end__";

/// A branch: a router and its declared targets as pairs of label and node, for drawing.
struct branch_entry {
  std::unique_ptr<const detail::router> router;
  std::vector<std::pair<std::string, std::string>> declared;
};

/// A node that is a source of a join.
struct join_member {
  std::uint32_t join;   ///< index into program::joins()
  std::uint32_t member; ///< index into the sources of the join
};

/// A node of a program.
struct node_entry {
  std::string name;
  std::unique_ptr<const node_body> body;
  node_options options;
  bool takes_payload = false;       ///< activated by Sends only: its input is not the state
  bool is_deferred = false;         ///< see node_options::defer
  bool has_end_edge = false;        ///< has an edge to END, which activates no node
  std::vector<std::uint32_t> edges; ///< numbers of the nodes that the node's edges lead to
  std::vector<join_member> joins;
  std::vector<std::uint32_t> joins_in; ///< the joins whose target is the node: program::joins()
  std::vector<branch_entry> branches;
  /// The number of the node's error handler; see graph::on_error(). With no_node, the run fails.
  std::uint32_t handler = ~std::uint32_t{0};
  bool is_handler = false; ///< is an error handler; no edge leads to it
  /// The engine's running estimate of how slow the body is, which decides where the body runs.
  /// Results do not depend on it.
  mutable std::atomic<int> slowness{0};
};

using join_entry = graph_layout::join;

/// A compiled graph in the form that the engine runs: channels, nodes, edges, branches. All graph
/// classes compile to it. Immutable and shared by all runs. Nodes are sorted by name.
///
/// The class is aligned to a cache line. Every run that starts or ends writes the use count of the
/// shared_ptr, which must not share a cache line with data that other runs read.
class alignas(64) program final {
public:
  static constexpr std::uint32_t no_node =
      ~std::uint32_t{0}; ///< number of the entry; no node has it

  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
  [[nodiscard]] const compile_options& options() const noexcept { return options_; }
  [[nodiscard]] const std::vector<std::unique_ptr<const channel>>& channels() const noexcept {
    return layout_->channels;
  }
  /// Returns the layout that checkpoints of this program refer to.
  [[nodiscard]] const layout_ptr& layout() const noexcept { return layout_; }
  [[nodiscard]] const std::vector<std::unique_ptr<node_entry>>& nodes() const noexcept {
    return nodes_;
  }
  /// Returns the node with this number, or the entry for no_node.
  [[nodiscard]] const node_entry& node(std::uint32_t i) const noexcept {
    return i == no_node ? entry_ : *nodes_[i];
  }
  [[nodiscard]] const std::vector<join_entry>& joins() const noexcept { return joins_; }
  /// Returns the entry of the graph (START), which has edges and branches but no body.
  [[nodiscard]] const node_entry& entry() const noexcept { return entry_; }
  /// Returns the numbers of channels whose update_empty() is called in steps that do not write
  /// them.
  [[nodiscard]] const std::vector<std::uint32_t>& transient_channels() const noexcept {
    return transient_;
  }
  /// Whether update_empty() of a transient channel may throw.
  [[nodiscard]] bool may_fail_to_empty() const noexcept { return may_fail_to_empty_; }
  /// Whether at least one node has a timeout.
  [[nodiscard]] bool times_nodes() const noexcept { return times_nodes_; }
  /// Creates a state with all channels at their initial values.
  [[nodiscard]] state_ptr make_state() const { return layout_->make_state(); }
  /// Returns the type of the state_block that make_state() creates.
  [[nodiscard]] const std::type_info& state_type() const noexcept { return *state_type_; }
  /// Returns the numbers of the channels that a caller of the graph sees, sorted; empty: all.
  [[nodiscard]] const std::vector<std::uint32_t>& output() const noexcept { return output_; }
  /// Returns how the channels of a json_graph are converted to JSON; null for other graphs.
  [[nodiscard]] const std::shared_ptr<const json_layout>& json() const noexcept { return json_; }

  /// Returns the index of a node by name, or no_node if there is no such node.
  [[nodiscard]] std::uint32_t find(std::string_view name) const noexcept;
  /// Adds a node by name to the targets of an output; END adds nothing. Throws
  /// graph_error{unknown_node} unless unknown targets are ignored, and graph_error{invalid_update}
  /// for a node that only Sends may activate.
  void go_to(node_output&, std::string_view name) const;
  /// Adds a Send to an output. Throws graph_error{unknown_node} unless unknown targets are ignored,
  /// and graph_error{invalid_update} for END.
  void send_to(node_output&, std::string_view name, value input) const;

  /// Returns the faults that compile() accepted; see compiled_graph::warnings().
  [[nodiscard]] const std::vector<fault>& warnings() const noexcept { return warnings_; }

  /// Returns the graph as Mermaid text in LangGraph's layout; see drawing.hpp for options.
  [[nodiscard]] std::string mermaid() const;
  /// Returns the numbers of the nodes in the order in which they were added.
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
  std::vector<std::uint32_t> output_;
  std::shared_ptr<const json_layout> json_;
  std::vector<std::uint32_t> transient_;
  bool may_fail_to_empty_ = false;
  const std::type_info* state_type_ = &typeid(void);
  bool times_nodes_ = false;
  std::vector<std::uint32_t> declared_;
  std::vector<fault> warnings_;
};

using program_ptr = std::shared_ptr<const program>;

/// Collects the parts of a graph and checks them. Used by graph<State>, channel_graph and
/// json_graph; not for users.
class program_builder {
public:
  // Defined in the source file, so that programs need not instantiate the members' destructors.
  program_builder();
  // Not copyable: bodies need not be. Declared, so that the compiler names the copy of a graph.
  program_builder(const program_builder&) = delete;
  program_builder& operator=(const program_builder&) = delete;
  program_builder(program_builder&&) noexcept;
  program_builder& operator=(program_builder&&) noexcept;
  ~program_builder();

  // The functions that add parts throw compile_error after compile().

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
  /// Sets the error handler of all nodes that do not have one, named `__default_error_handler__`.
  void set_error_handler(std::unique_ptr<const node_body> body, node_options options);
  /// Sets the retry policies, cache policy and timeout of nodes whose own options do not set them.
  void set_defaults(node_options options) { defaults_ = std::move(options); }
  /// Adds a fault that the graph class has found; compile() reports it with the others.
  void add_fault(fault f) { faults_.push_back(std::move(f)); }
  /// Adds an edge from one source, or a join of several sources, which fires when all have run.
  void add_edge(std::vector<std::string> sources, std::string target);
  /// Adds an edge from each node of the list to the next one.
  void add_sequence(std::vector<std::string> names);
  /// Adds a branch.
  /// @param declared its possible targets, as pairs of label and node
  void add_branch(std::string source, std::unique_ptr<const router> r,
                  std::vector<std::pair<std::string, std::string>> declared);

  /// Checks the graph and returns the program. Throws compile_error, which lists all faults. May be
  /// called once, even if it throws, because the parts move into the program.
  /// @param output see program::output()
  /// @param json see program::json()
  [[nodiscard]] program_ptr compile(compile_options options, std::vector<std::uint32_t> output = {},
                                    std::shared_ptr<const json_layout> json = nullptr);

private:
  struct edge {
    std::vector<std::string> sources;
    std::string target;
  };
  struct branch {
    std::string source;
    branch_entry entry;
  };

  void expect_open() const;
  [[nodiscard]] std::vector<fault> check(const program&) const;
  void check_edge(const program&, const edge&, std::vector<fault>&) const;
  void check_target(const program&, std::string_view target, std::string_view from,
                    std::vector<fault>&) const;
  void check_handlers(const program&, std::vector<fault>&) const;
  [[nodiscard]] std::shared_ptr<graph_layout> make_layout(program&);
  static void list_transient_channels(program&);
  void sort_nodes(program&);
  void connect(program&);
  void connect_handlers(program&) const;
  void fill_defaults();

  bool is_used_up_ = false;
  std::vector<fault> faults_; // found while the graph was built
  std::vector<std::unique_ptr<const channel>> channels_;
  std::vector<std::unique_ptr<node_entry>> nodes_;
  std::vector<edge> edges_;
  std::vector<branch> branches_;
  // Pairs of a node and its error handler. An empty node name means all nodes without a handler.
  std::vector<std::pair<std::string, std::string>> handlers_;
  std::vector<std::string> handler_faults_;
  node_options defaults_;
  std::function<state_ptr()> make_state_;
};

} // namespace superstep::detail

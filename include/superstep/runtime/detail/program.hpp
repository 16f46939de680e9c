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

inline constexpr std::string_view start_node = "__start__";
inline constexpr std::string_view end_node = "__end__";

/// A branch: a router and the targets it declares (label, node), for drawing.
struct branch_entry {
  std::unique_ptr<const detail::router> router;
  std::vector<std::pair<std::string, std::string>> declared;
};

struct join_member {
  std::uint32_t join;
  std::uint32_t member;
};

struct node_entry {
  std::string name;
  std::unique_ptr<const node_body> body;
  node_options options;
  bool takes_payload = false; ///< fed by Sends only: its input is not the state
  bool is_deferred = false;   ///< see node_options::defer
  bool has_end_edge = false;  ///< an edge to END: leads nowhere, but is meant to
  std::vector<std::uint32_t> edges;
  std::vector<join_member> joins;
  std::vector<branch_entry> branches;
  /// Runs in the same step when an activation has failed for good; its output is the step's
  /// instead, and the edges of this node do not fire. no_node: the run fails.
  std::uint32_t handler = ~std::uint32_t{0};
  bool is_handler = false; ///< of other nodes: nothing leads to it
  /// The engine's running guess whether the body blocks. A hint: no result depends on it.
  mutable std::atomic<int> slowness{0};
};

using join_entry = graph_layout::join;

/// The one table that every front end fills and the engine runs: channels, nodes, edges, branches.
/// Immutable and shared by all runs; nodes stand in the order of their names.
/// Aligned, because its shared_ptr's count is written by every run that starts or ends.
class alignas(64) program final {
public:
  static constexpr std::uint32_t no_node = ~std::uint32_t{0};

  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
  [[nodiscard]] const compile_options& options() const noexcept { return options_; }
  [[nodiscard]] const std::vector<std::unique_ptr<const channel>>& channels() const noexcept {
    return layout_->channels;
  }
  /// What checkpoints of this table refer to.
  [[nodiscard]] const layout_ptr& layout() const noexcept { return layout_; }
  [[nodiscard]] const std::vector<std::unique_ptr<node_entry>>& nodes() const noexcept {
    return nodes_;
  }
  /// A node by number; no_node is the entry.
  [[nodiscard]] const node_entry& node(std::uint32_t i) const noexcept {
    return i == no_node ? entry_ : *nodes_[i];
  }
  [[nodiscard]] const std::vector<join_entry>& joins() const noexcept { return joins_; }
  /// The hidden entry: its edges and branches, no body.
  [[nodiscard]] const node_entry& entry() const noexcept { return entry_; }
  /// Channels that want an empty update in steps that do not write them.
  [[nodiscard]] const std::vector<std::uint32_t>& transient_channels() const noexcept {
    return transient_;
  }
  /// Whether emptying one of them may throw.
  [[nodiscard]] bool may_fail_to_empty() const noexcept { return may_fail_to_empty_; }
  /// Some node has a time-out.
  [[nodiscard]] bool times_nodes() const noexcept { return times_nodes_; }
  [[nodiscard]] state_ptr make_state() const { return layout_->make_state(); }
  /// The type of the state_block that make_state() returns.
  [[nodiscard]] const std::type_info& state_type() const noexcept { return *state_type_; }
  [[nodiscard]] bool ignores_unknown_targets() const noexcept {
    return options_.ignore_unknown_targets;
  }

  /// Index of a node by name, no_node when there is none.
  [[nodiscard]] std::uint32_t find(std::string_view name) const noexcept;
  /// Adds a target by name to an output; END adds nothing. Throws graph_error{unknown_node}.
  void go_to(node_output&, std::string_view name) const;
  void send_to(node_output&, std::string_view name, value input) const;

  /// What compile() noticed and let pass: nodes that nothing leads to, or that never lead to END.
  [[nodiscard]] const std::vector<fault>& warnings() const noexcept { return warnings_; }

  /// The graph as Mermaid text (the reference's layout); more in drawing.hpp.
  [[nodiscard]] std::string mermaid() const;
  /// Names in the order of declaration, for drawing.
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

/// Collects a graph from any front end and checks it. Not for users: graph<State>, channel_graph
/// and json_graph stand in front of it.
class program_builder {
public:
  std::uint32_t add_channel(std::unique_ptr<const channel> c);
  void set_state(std::function<state_ptr()> make) { make_state_ = std::move(make); }
  void add_node(std::string name, std::unique_ptr<const node_body> body, bool takes_payload,
                node_options options);
  /// Runs instead of a node that has failed, under the name `__error_handler__NODE`.
  void add_error_handler(const std::string& node, std::unique_ptr<const node_body> body,
                         bool takes_payload, node_options options);
  /// The same for every node without one of its own, under the name `__default_error_handler__`.
  void set_error_handler(std::unique_ptr<const node_body> body, node_options options);
  /// What nodes use where their own options say nothing: retry, cache and timeout.
  void set_defaults(node_options options) { defaults_ = std::move(options); }
  /// A fault that the front end noticed; compile() reports it with the others.
  void add_fault(fault f) { faults_.push_back(std::move(f)); }
  /// One source: a plain edge. Several: a join, fired when all have run.
  void add_edge(std::vector<std::string> sources, std::string target);
  /// Plain edges from each to the next.
  void add_sequence(std::vector<std::string> names);
  void add_branch(std::string source, std::unique_ptr<const router> r,
                  std::vector<std::pair<std::string, std::string>> declared);

  /// The finished table; throws compile_error with every fault. The builder is used up: a second
  /// call is refused.
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
  std::vector<fault> faults_; // noticed while it was put together
  std::vector<std::unique_ptr<const channel>> channels_;
  std::vector<std::unique_ptr<node_entry>> nodes_;
  std::vector<edge> edges_;
  std::vector<branch> branches_;
  std::vector<std::pair<std::string, std::string>> handlers_; // node and handler; empty: all others
  std::vector<std::string> handler_faults_;
  node_options defaults_;
  std::function<state_ptr()> make_state_;
};

} // namespace superstep::detail

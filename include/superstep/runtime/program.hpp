// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpoint.hpp>
#include <superstep/checkpoint/fwd.hpp>
#include <superstep/runtime/node_body.hpp>
#include <superstep/runtime/retry_policy.hpp>
#include <superstep/runtime/timeout_policy.hpp>

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

namespace superstep {

inline constexpr std::string_view start_node = "__start__";
inline constexpr std::string_view end_node = "__end__";

/// When an activation need not be run because the same input was seen before.
struct cache_policy {
  /// Of what the node reads. Runs between two steps on the engine's thread, so it must be short.
  /// Empty: the whole input, where the node can show it.
  std::function<std::string(const body_input&)> key{};
  std::optional<std::chrono::milliseconds> ttl{}; ///< nothing: for ever
};

/// What a node may be told beside its body.
struct node_options {
  /// Nodes that its Commands may go to: drawn, and checked by compile().
  std::vector<std::string> destinations{};
  json::object metadata{};
  std::vector<std::string> tags{}; ///< `nostream`: its messages are not streamed
  /// Holds the node back, however often it is triggered, until a step would leave nothing else to
  /// run (the reference's `defer`).
  bool defer = false;
  /// When an activation that failed is tried again; the first policy that fits decides.
  std::vector<retry_policy> retry{};
  std::optional<cache_policy> cache{}; ///< used when the graph or the run has a cache
  std::optional<timeout_policy> timeout{};
  /// Turns the failure of an activation (an exception, a killed actor) into an output. Empty
  /// result: the run fails. When a run is cancelled the nodes of all tasks that are still open are
  /// asked (graph_errc::cancelled), and if all have an output the step is applied before the run
  /// ends. Not asked when a run ends for another reason.
  std::function<std::optional<node_output>(const body_input&, const run_error&)> on_failure{};
};

/// What becomes of a subgraph's state between calls.
enum class persistence : std::uint8_t {
  per_call,   ///< every call starts afresh, but goes on after an interrupt or a retry
  per_thread, ///< a call goes on with what earlier calls of the thread left
  none,       ///< nothing is kept: an interrupted call starts over
};

struct compile_options {
  std::string name = "graph";
  /// Keeps the threads of runs that name one. A subgraph uses its parent's.
  std::shared_ptr<superstep::checkpointer> checkpointer{};
  std::shared_ptr<superstep::store> store{};
  std::shared_ptr<write_cache> cache{};
  /// Nodes that a run stops before or after; `*`: all.
  std::vector<std::string> interrupt_before{};
  std::vector<std::string> interrupt_after{};
  /// Turns values of checkpoints whose channels have another type now; empty: they are refused.
  value_converter convert{};
  /// Channels that a caller of the graph sees, by number; empty: all.
  std::vector<std::uint32_t> output{};
  /// As a subgraph.
  superstep::persistence persistence = superstep::persistence::per_call;
  /// How long a super-step may take; 0: no limit. Its tasks are cancelled, and the run fails.
  std::chrono::milliseconds step_timeout{0};
  /// What a Command or router may name that the graph does not have: an error, or nothing (the
  /// reference).
  bool ignore_unknown_targets = false;
  /// What would be a warning (see program::warnings()) is a fault.
  bool strict = false;
  /// Also warns of nodes that run more than once because single edges of unequal depth feed them.
  bool lint = false;
  /// Prints what each step of a run writes, and the state after it, to std::clog.
  bool debug = false;
};

/// A branch: a router and the targets it declares (label, node), for drawing.
struct branch_entry {
  std::unique_ptr<const superstep::router> router;
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

} // namespace superstep

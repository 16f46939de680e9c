// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "activation.hpp"
#include "module.hpp"
#include "python_run.hpp"
#include "python_value.hpp"
#include "results.hpp"

#include <superstep/channels/detail/slots.hpp>
#include <superstep/checkpoint/store.hpp>
#include <superstep/checkpoint/write_cache.hpp>
#include <superstep/runtime/detail/program.hpp>
#include <superstep/runtime/update.hpp>
#include <superstep/threads/snapshot.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace superstep::python {

/// The channels of a Python graph. Immutable once the graph is compiled.
struct graph_layout {
  struct entry {
    std::string name;
    value_rule rule;
    std::shared_ptr<python_reducer> reducer;
    shared_object key; ///< the name as a Python str
  };
  std::vector<entry> channels; ///< entry i describes slot i and channel i
  std::map<std::string, std::uint32_t, std::less<>> numbers;
  slot_block blank{this};
  bool stores_values = false; ///< whether values need a JSON form, for the checkpointer

  using values = std::vector<value_ref>;

  /// Returns references to the values of all channels; null for empty channels.
  [[nodiscard]] values values_of(const state_block& state) const;
  // The members below need the GIL.

  /// Returns a dict of the channels that hold a value.
  /// @param only numbers of the channels; empty: all
  [[nodiscard]] nb::dict read(const values& from,
                              const std::vector<std::uint32_t>& only = {}) const;
  /// Converts an update, a dict or None, to writes. Throws nb::value_error for a key that is not a
  /// channel, and nb::type_error for a value that cannot be stored.
  void add_writes(nb::handle update, std::vector<write>& to) const;
  /// Calls the reducers for writes whose channels hold these values, so that the barrier need not
  /// wait for a thread with the GIL. Changes `from` to the values after the writes.
  void combine(std::vector<write>& writes, values& from) const;
  /// Makes a value; with a JSON form if the graph stores values.
  [[nodiscard]] value_ref make_value(nb::handle object, const std::string& where) const;
};
using layout_ref = std::shared_ptr<const graph_layout>;

/// Reads destinations: a str, a bool, a Send, or a list of these. The caller holds the GIL.
/// @param labels maps what a router returns to nodes; empty: it returns nodes
[[nodiscard]] python_targets read_targets(nb::handle from, const graph_layout& layout,
                                          const std::map<std::string, std::string>& labels = {});
/// Adds destinations to the output of a node. Throws graph_error for an unknown node.
void add_targets(const python_targets& targets, const detail::program& table, node_output& out);

/// A branch of a graph.
struct python_branch {
  python_function route;
  std::map<std::string, std::string> labels;
};

/// Where a graph keeps data; all may be null.
struct graph_services {
  checkpointer_ptr checkpointer;
  std::shared_ptr<superstep::store> store;
  std::shared_ptr<write_cache> cache;
};

/// Builds a graph from the recipe that the Python package passes, and runs it: the class Graph of
/// the module. The members need the GIL.
class native_graph {
public:
  explicit native_graph(graph_services services);
  native_graph(const native_graph&) = delete;
  native_graph& operator=(const native_graph&) = delete;

  // The functions that build the graph; see json_graph.
  void channel(const std::string& name, nb::object reducer, nb::object initial, bool has_initial);
  void node(const std::string& name, nb::object function, bool is_async, bool takes_runtime,
            nb::dict options);
  /// @param node the node; empty: all nodes without an error handler
  void error_handler(const std::string& node, nb::object function, bool is_async,
                     bool takes_runtime);
  void subgraph(const std::string& name, nb::object graph, nb::dict options);
  void edge(std::vector<std::string> from, std::string to);
  void branch(const std::string& from, nb::object route, bool is_async, bool takes_runtime,
              nb::dict labels);
  void compile(nb::dict options);

  /// Starts a run; see native_agent::submit(). The result is a tuple (status, state, interrupts,
  /// error, steps).
  started_run start(nb::handle input, nb::dict options, delivery to,
                    const std::vector<std::string>& modes);
  /// Returns the state of a thread as (values, next, interrupts, checkpoint_id).
  [[nodiscard]] nb::object get_state(nb::dict options) const;
  [[nodiscard]] nb::list get_state_history(nb::dict options, std::size_t limit) const;
  std::string update_state(nb::dict options, nb::handle values, const std::string& as_node);
  [[nodiscard]] std::string mermaid() const;

  /// The Python functions and subgraphs of the graph, for the garbage collector.
  [[nodiscard]] const std::vector<shared_object>& functions() const noexcept { return functions_; }

private:
  shared_object keep(nb::handle function);
  [[nodiscard]] detail::run_input read_input(nb::handle input, python_run& chosen) const;
  [[nodiscard]] nb::object values_of(const state_snapshot& from) const;

  std::shared_ptr<graph_layout> layout_;
  graph_services services_;
  detail::program_builder builder_;
  detail::program_ptr program_;
  std::map<std::string, std::shared_ptr<std::vector<python_branch>>> branches_; // by source
  std::vector<shared_object> functions_;
};

} // namespace superstep::python

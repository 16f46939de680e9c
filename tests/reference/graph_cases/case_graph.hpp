// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph_cases/case_checkpointer.hpp"
#include "graph_cases/node_program.hpp"

#include <superstep/checkpoint/detail/fwd.hpp>

#include <map>
#include <memory>
#include <string>

namespace superstep::graph_cases {

/// All graphs of a case, built with the JSON front end; calls go to `main`.
struct case_graphs {
  std::shared_ptr<graph_library> all;
  std::shared_ptr<superstep::store> store;         ///< null if the case has none
  std::shared_ptr<case_checkpointer> checkpointer; ///< null if the case has none

  [[nodiscard]] const compiled_json_graph& main() const { return all->at("main"); }
  /// Returns the graph of an event or a snapshot.
  [[nodiscard]] const compiled_json_graph& of(const detail::program* table) const;
};

/// Throws compile_error for a graph with faults, and `unsupported` for a missing feature.
[[nodiscard]] case_graphs build(const json::object& test_case,
                                std::shared_ptr<execution_counts> counts);

} // namespace superstep::graph_cases

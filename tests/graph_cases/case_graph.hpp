// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph_cases/node_program.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>

namespace superstep::graph_cases {

/// The main graph of a case, built with the JSON front end.
struct case_graph {
  compiled_json_graph graph;
  std::set<std::string, std::less<>> input;  ///< channels that an input may set
  std::set<std::string, std::less<>> output; ///< channels that a caller sees
};

/// Throws compile_error for a graph with faults, unsupported for what superstep lacks.
[[nodiscard]] case_graph build(const json::object& test_case,
                               std::shared_ptr<execution_counts> counts);

} // namespace superstep::graph_cases

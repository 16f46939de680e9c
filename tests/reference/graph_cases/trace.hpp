// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph_cases/case_graph.hpp"

#include <superstep/actors/detail/run_event.hpp>
#include <superstep/threads/snapshot.hpp>

// Converts results of superstep to the form of the traces.
namespace superstep::graph_cases {

[[nodiscard]] json::object describe_error(const std::exception_ptr&);
[[nodiscard]] json::object describe_error(const run_error&);
/// Returns a value with overwrites and generated ids as traces write them.
[[nodiscard]] json::value shown(json::value);
[[nodiscard]] json::array describe_questions(const std::vector<interrupt>&);
[[nodiscard]] json::object describe_event(const detail::run_event&, const case_graphs&);
[[nodiscard]] json::object describe_state(const state_snapshot&, const case_graphs&);

} // namespace superstep::graph_cases

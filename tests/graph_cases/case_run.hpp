// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/engine.hpp>
#include <superstep/base/json.hpp>

namespace superstep::graph_cases {

/// Builds the graph of a recorded case, makes its calls and returns the trace. A call for which
/// superstep has no feature yet gets `{"unsupported": what}` as its entry, and ends the case.
/// @param seed shuffles the order in which the tasks of a step end
[[nodiscard]] json::array run_case(const json::object& test_case, engine& e,
                                   std::optional<std::uint64_t> seed = {});

} // namespace superstep::graph_cases

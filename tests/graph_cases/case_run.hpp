// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/engine.hpp>
#include <superstep/base/json.hpp>

#include <cstddef>
#include <optional>

namespace superstep::graph_cases {

/// Builds the graph of a recorded case, makes its calls and returns the trace. A call for which
/// superstep has no feature yet gets `{"unsupported": what}` as its entry, and ends the case.
/// @param seed shuffles the order in which the tasks of a step end
[[nodiscard]] json::array run_case(const json::object& test_case, engine& e,
                                   std::optional<std::uint64_t> seed = {});

/// The same, but the process dies in one call of the script, with the checkpoint that is saved
/// n-th (from 1) in it, and another one goes on. Nothing: that call saves fewer.
/// @pre the case has a checkpointer
[[nodiscard]] std::optional<json::array> run_killed(const json::object& test_case, engine&,
                                                    std::optional<std::uint64_t> seed,
                                                    std::size_t call, std::size_t checkpoint);

} // namespace superstep::graph_cases

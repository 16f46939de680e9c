// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/engine.hpp>
#include <superstep/base/json.hpp>

#include <cstddef>
#include <optional>

namespace superstep::graph_cases {

/// Builds the graph of a recorded case, executes its calls and returns the trace. A call that needs
/// a missing feature of superstep gets the entry `{"unsupported": what}` and ends the case.
[[nodiscard]] json::array run_case(const json::object& test_case, engine& e,
                                   std::optional<std::uint64_t> seed = {});

/// Runs a case like run_case(), but the process dies in one call of the script at the n-th
/// checkpoint (from 1) saved in it, and another one resumes. Returns nullopt if that call saves
/// fewer.
/// @pre the case has a checkpointer
[[nodiscard]] std::optional<json::array> run_killed(const json::object& test_case, engine&,
                                                    std::optional<std::uint64_t> seed,
                                                    std::size_t call, std::size_t checkpoint);

} // namespace superstep::graph_cases

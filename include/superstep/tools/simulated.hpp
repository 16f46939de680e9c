// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/tools/tool.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace superstep {

/// Options of make_simulated(): a tool without effect, for load tests.
struct simulated_options {
  std::string name; ///< of the tool; required
  std::string description = "A simulated tool.";    ///< for the model
  json::object args_schema;          ///< JSON Schema of the arguments; empty: any
  std::optional<json::value> result; ///< text or JSON; unset: the arguments as JSON
  std::uint32_t delay_ms = 0;        ///< duration of a call; blocks no thread
  double error_rate = 0;             ///< fraction of calls that fail, from 0 to 1
  std::uint64_t seed = 0;            ///< selects the calls that fail
};

/// Makes a tool that waits and returns a fixed result. Which calls fail depends only on the seed,
/// the run key and the id of the call, so a repeated run fails at the same calls.
/// @return an error for a missing name, a rate outside 0 to 1, or an invalid schema
[[nodiscard]] result<tool_ptr> make_simulated(simulated_options options);

} // namespace superstep

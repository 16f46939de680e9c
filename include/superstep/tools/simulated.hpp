// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/tools/tool.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace superstep {

/// A tool that does nothing, slowly: for load tests.
struct simulated_options {
  std::string name;
  std::string description = "A simulated tool.";
  json::object args_schema;          ///< empty: takes any arguments
  std::optional<json::value> result; ///< text, or JSON; unset: answers its arguments as JSON
  std::uint32_t delay_ms = 0;        ///< the call is suspended that long, no thread waits
  double error_rate = 0;             ///< 0 to 1: how many of the calls fail
  std::uint64_t seed = 0;
};

/// Which calls fail depends on seed, run key and tool-call id alone, so that a repeated run fails
/// in the same places. Errors: no name, a rate outside 0 to 1, a schema that is none.
[[nodiscard]] result<tool_ptr> make_simulated(simulated_options options);

} // namespace superstep

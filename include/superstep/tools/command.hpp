// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/net/io_context.hpp>
#include <superstep/tools/tool.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace superstep {

/// A program as a tool; no shell is involved.
struct command_options {
  std::string name;
  std::string description;
  std::vector<std::string> argv; ///< the program, found through PATH, and its fixed arguments
  json::object args_schema;      ///< of the arguments the model gives; empty: any
  std::uint32_t timeout_ms = 60'000;
  std::size_t max_output_bytes = 1024 * 1024; ///< of standard output; more is an error result
};

/// The arguments are written as JSON to the program's standard input; what it writes to standard
/// output is the result, without the last line break. An exit status other than 0 is an error
/// result with the start of standard error. Program and children are killed when the time is over
/// or the call is cancelled; no thread waits for them.
///
/// Its environment is ours, with SUPERSTEP_RUN_KEY, SUPERSTEP_TOOL_CALL_ID, SUPERSTEP_ATTEMPT and
/// SUPERSTEP_IDEMPOTENCY_KEY.
/// Errors: no name, no program, a bound of 0, a schema that is none. `io` is kept by the tool.
[[nodiscard]] result<tool_ptr> make_command(std::shared_ptr<io_runtime> io,
                                            command_options options);

} // namespace superstep

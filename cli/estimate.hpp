// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/run_options.hpp"

#include <superstep/agents/agent_file.hpp>
#include <superstep/base/error.hpp>

#include <string>

namespace superstep::cli {

/// Checks the input of a job and returns a text about it, with a newline at its end: the number of
/// rows and, if `has_estimate` is set, the tokens and the cost of the first model call of each row.
/// @param given the options of the input and of the prices
[[nodiscard]] result<std::string> describe_input(const run_arguments& given, const agent& a,
                                                 bool has_estimate);

} // namespace superstep::cli

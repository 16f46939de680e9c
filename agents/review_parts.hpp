// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/prebuilt_middleware.hpp>

/// Functions that all reviews of tool calls share.
namespace superstep::reviews {

/// Whether the call is to be reviewed.
[[nodiscard]] bool is_meant(const tool_call& call, const review_options& options);
/// Returns the interrupt value for the review of a call.
[[nodiscard]] human_interrupt question_about(const tool_call& call, const review_options& options);
/// Parses a person's answer. Throws tool_value_error if it is malformed or not allowed by the
/// config.
[[nodiscard]] human_response read_response(const json::value& answer,
                                           const review_options& options);

} // namespace superstep::reviews

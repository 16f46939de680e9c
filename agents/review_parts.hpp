// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/prebuilt_middleware.hpp>

/// Functions that both kinds of tool-call reviews use: review_calls() and human_in_the_loop().
namespace superstep::reviews {

/// Whether the options require a review of this call.
[[nodiscard]] bool is_meant(const tool_call& call, const review_options& options);
/// Returns the interrupt value that requests the review of a call.
[[nodiscard]] human_interrupt question_about(const tool_call& call, const review_options& options);
/// Parses a reviewer's answer. Throws tool_value_error if it is malformed, or of a kind that the
/// options do not allow.
[[nodiscard]] human_response read_response(const json::value& answer,
                                           const review_options& options);

} // namespace superstep::reviews

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/prebuilt_middleware.hpp>

#include <string>

/// Functions that both kinds of tool-call reviews use: review_calls() and human_in_the_loop().
namespace superstep::reviews {

/// Whether the options require a review of this call.
[[nodiscard]] bool is_meant(const tool_call& call, const review_options& options);
/// Returns the interrupt value that requests the review of a call.
[[nodiscard]] human_interrupt question_about(const tool_call& call, const review_options& options);
/// Parses a reviewer's answer to a call. An edit has an action, a response has a text, and only an
/// ignored call may have a text as well, which is the reason. Clients that repeat the action when
/// they accept or ignore it must not have changed it. Throws tool_value_error if the answer is
/// malformed, or of a kind that the options do not allow.
[[nodiscard]] human_response read_response(const json::value& answer, const tool_call& call,
                                           const review_options& options);
/// Returns the reason of an ignored call; an empty text if there is none.
[[nodiscard]] std::string reason_of(const human_response& ignored);

} // namespace superstep::reviews

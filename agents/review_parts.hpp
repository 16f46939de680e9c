// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/prebuilt_middleware.hpp>

/// What all reviews of calls have in common.
namespace superstep::reviews {

[[nodiscard]] bool is_meant(const tool_call& call, const review_options& options);
[[nodiscard]] human_interrupt question_about(const tool_call& call, const review_options& options);
/// Throws tool_value_error when it is none, or none that the config allows.
[[nodiscard]] human_response read_response(const json::value& answer,
                                           const review_options& options);

} // namespace superstep::reviews

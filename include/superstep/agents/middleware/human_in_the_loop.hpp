// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/middleware.hpp>
#include <superstep/agents/review_calls.hpp>

namespace superstep {

/// Makes a middleware that asks a person after each answer of the model. The run is interrupted
/// with a list of human_interrupts, one for each call to review, and resumes with a list of as many
/// human_responses in the same order. Accepted calls run, edited ones as edited. A response in
/// words becomes the answer in place of the tool's. The answer to an ignored call states that the
/// user rejected it.
///
/// All calls of an answer are reviewed at once; review_calls() reviews each call separately.
/// A response that the config does not allow, or a different number of responses, fails the run.
/// Source: `HumanInTheLoopMiddleware` in langchain 1.4.7, agents/middleware/human_in_the_loop.py.
[[nodiscard]] message_middleware human_in_the_loop(review_options options = {});

} // namespace superstep

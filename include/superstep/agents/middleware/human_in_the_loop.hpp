// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/middleware.hpp>
#include <superstep/agents/review_calls.hpp>

namespace superstep {

/// After an answer of the model: the run is interrupted with a list of one human_interrupt for each
/// call that is to be reviewed, in their order, and resumes with a list of as many human_responses.
/// Accepted calls are made, edited ones as they were edited; words of a person are the answer in
/// place of the tool's, and of an ignored call the model reads that the user rejected it.
///
/// All calls of an answer are reviewed at once; review_calls() asks about each by itself.
/// A response that the config does not allow, and another number of them, fail the run.
[[nodiscard]] message_middleware human_in_the_loop(review_options options = {});

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/human_review.hpp>
#include <superstep/tools/tool_node.hpp>

#include <functional>
#include <string>
#include <vector>

namespace superstep {

/// Selects the calls that a person reviews, and the answers that the person may give.
struct review_options {
  std::vector<std::string> tools{}; ///< names of tools; empty: all
  /// The allowed answers.
  human_interrupt_config config{true, true, true, true};
  /// Makes the description that the person reads; empty: a text with the name of the tool.
  std::function<std::string(const tool_call&)> describe{};
};

/// Makes an interceptor (tool_node_options::wrap_call) that asks a person before it runs a call.
///
/// The run is interrupted with a list of one human_interrupt and resumes with a human_response or a
/// list of one. An accepted call runs; an edited call runs with the new arguments. A response in
/// words becomes the answer in place of the tool's. The answer to an ignored call states that it
/// was ignored.
///
/// A response that the config does not allow, or that is malformed, becomes the error of the call,
/// which the model reads. Calls of unknown tools are not reviewed. The tool node must be run by a
/// graph.
[[nodiscard]] tool_interceptor review_calls(review_options options = {});

} // namespace superstep

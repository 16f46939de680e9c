// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/human_review.hpp>
#include <superstep/tools/tool_node.hpp>

#include <functional>
#include <string>
#include <vector>

namespace superstep {

/// Which calls wait for a person, and what that person may do.
struct review_options {
  std::vector<std::string> tools{}; ///< by name; empty: all
  human_interrupt_config config{true, true, true, true};
  /// What the person reads; empty: that the call of the tool is to be reviewed.
  std::function<std::string(const tool_call&)> describe{};
};

/// An interceptor (tool_node_options::wrap_call) that asks before it runs a call: the run is
/// interrupted with a list of one human_interrupt, and resumes with a human_response or a list of
/// one. Accepted calls run, edited ones with the new arguments; words of a person are the answer in
/// place of the tool's, and of an ignored call the model reads that it was.
///
/// What the config does not allow, and what is no response, is the call's error: the model reads
/// about it. Calls of unknown tools are not reviewed. The node must be run by a graph.
[[nodiscard]] tool_interceptor review_calls(review_options options = {});

} // namespace superstep

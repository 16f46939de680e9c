// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/agents/agent_options.hpp>

// What the hooks of agent files do with a long conversation. A turn (what a person says and all
// that follows) is never cut: calls would lose their answers.
namespace superstep::detail {

/// Lets the model read the latest turns that fit, and the last one in any case.
[[nodiscard]] agent_hook<chat_state> make_trim_hook(const trim_spec& options);

/// Puts a summary, made by the model, in the place of older turns once there is too much of them.
[[nodiscard]] agent_hook<chat_state> make_summary_hook(const summary_spec& options,
                                                           chat_model_ptr model);

} // namespace superstep::detail

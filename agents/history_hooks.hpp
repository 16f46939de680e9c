// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/agents/agent_options.hpp>

// Hooks of agent files for long conversations. They never split a turn (a human message and all
// that follows it), because calls would be separated from their answers.
namespace superstep::detail {

/// Makes a hook that lets the model read the latest turns that fit, and the last one in any case.
[[nodiscard]] agent_hook<chat_state> make_trim_hook(const trim_spec& options);

/// Makes a hook that replaces older turns by a summary when the conversation is too long.
[[nodiscard]] agent_hook<chat_state> make_summary_hook(const summary_spec& options,
                                                       chat_model_ptr model);

} // namespace superstep::detail

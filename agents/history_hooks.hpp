// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/agents/agent_options.hpp>

#include <optional>
#include <string>

// Hooks of agent files for long conversations. They never split a turn (a human message and all
// messages up to the next one), because a cut could separate tool calls from their answers.
namespace superstep::detail {

/// Makes a hook that passes only the latest turns to the model, as many as fit into the token
/// limit. The last turn is always passed.
[[nodiscard]] agent_hook<chat_state> make_trim_hook(const trim_spec& options);

/// Makes a hook that replaces older turns by a summary when the conversation is too long.
[[nodiscard]] agent_hook<chat_state> make_summary_hook(const summary_spec& options,
                                                       chat_model_ptr model);

/// Returns the text of a summarising model's answer, which takes the place of messages. Returns
/// nullopt if the text is blank or the answer was cut, because the messages would then be lost.
[[nodiscard]] std::optional<std::string> summary_in(const message& answer);

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/detail/response_reader.hpp>
#include <superstep/agents/middleware.hpp>
#include <superstep/tools/tool.hpp>
#include <superstep/tools/tool_node.hpp>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// The parts of an agent's loop that do not depend on the type of the state.
namespace superstep {
class early_tools; // private to agents
struct run_error;
} // namespace superstep

namespace superstep::react {

inline constexpr auto agent_name = "agent";
inline constexpr auto tools_name = "tools";
inline constexpr auto pre_hook_name = "pre_model_hook";
inline constexpr auto post_hook_name = "post_model_hook";
inline constexpr auto structured_name = "generate_structured_response";

/// The text of the message that replaces an answer when no steps are left for its calls.
/// Source: `create_react_agent` in LangGraph 1.2.22, prebuilt/chat_agent_executor.py.
inline constexpr auto no_more_steps = "Sorry, need more steps to process this request.";

using tool_names = std::set<std::string, std::less<>>;

/// Returns the number of AI messages. The model's next call has this number, because calls are
/// counted from 0.
[[nodiscard]] std::uint32_t answers_in(const message_list& messages);

/// A call of the agent's model that is still being prepared.
using model_turn = model_call;

/// The tools whose calls may start early; null if there are none.
using early_ptr = std::shared_ptr<const early_tools>;

/// Prepares the named tools to start early. Replaces `tools` by a node that answers a call with its
/// early result if there is one. Throws compile_error for tools that cannot start early.
/// @param has_late_hook whether the agent has a hook after the model, which may refuse calls
[[nodiscard]] early_ptr make_early(agent_tools& tools, const std::vector<std::string>& names,
                                   bool has_late_hook);

/// The options that a run's caller passed for the run's agents; null if there are none.
using context_ptr = std::shared_ptr<const agent_context>;
/// Returns the agent_context in run_config::context; null if there is none.
[[nodiscard]] context_ptr context_of(const run_config& config);
/// Whether the step of a run that has failed runs again; see agent_context::repeats_cancelled_step.
[[nodiscard]] bool is_repeated(const run_config& config, const run_error& why);

/// Returns the observer that the run's caller set for tool calls; null if there is none.
[[nodiscard]] std::shared_ptr<const call_observer> observer_of(const context_ptr& asked);

/// A message that a list can take over without moving it; never null.
using answer_ptr = std::shared_ptr<message>;
/// Moves a message to where a list can take it over.
[[nodiscard]] answer_ptr as_answer(message&& answer);

/// Calls the model and streams its answer. The task throws the model's error. The model may already
/// be called, and throw, before the task is awaited.
[[nodiscard]] task<answer_ptr> ask_model(model_turn turn, runtime rt, early_ptr early,
                                         context_ptr asked);
/// Calls the model as ask_model() does, but only when the task is awaited: for middleware, which
/// may await the task inside a try block.
[[nodiscard]] task<message> ask_model_later(model_turn turn, runtime rt, early_ptr early,
                                            context_ptr asked);

/// Calls the model for the structured response only, when the task is awaited, and does not stream
/// the answer. The task throws the model's error.
[[nodiscard]] task<message> ask_separately(model_turn turn, runtime rt, context_ptr asked);

/// Requests the structured response, after the loop. `turn` contains the model, the system message,
/// the messages and the number of the call. The task throws as that of ask_for_response().
/// @param ask makes a call with ask_separately()
[[nodiscard]] task<response_answer> ask_response(response_reader_ptr reader, model_turn turn,
                                                 model_ask ask, context_ptr asked);

/// Prepares an answer for the state: sets the name of the agent, or replaces the answer if too few
/// steps are left for its calls.
/// @param will_retry_answer whether the model is called again even if there are no tool calls
void finish(message& answer, const std::string& agent, std::int64_t steps_left,
            const tool_names& return_direct, bool will_retry_answer = false);

/// Whether the run ends after the tools, because a called tool is return_direct.
[[nodiscard]] bool ends_directly(const message_list& messages, const tool_names& return_direct);

/// Returns the calls of the latest answer that have no tool message.
[[nodiscard]] std::vector<tool_call> pending_calls(const message_list& messages);

/// Adds error answers after each AI message for its calls whose arguments could not be parsed,
/// unless they have an answer or no id.
void answer_invalid_calls(message_list& messages, const tool_node& tools);

/// Throws if the history contains calls without answers. `whole`: checks all of it; otherwise only
/// from the latest AI message on.
void check_history(const message_list& messages, bool whole);

/// Throws graph_error{invalid_argument} with this text.
[[noreturn]] void refuse(std::string text);
/// Throws compile_error with this text.
[[noreturn]] void refuse_options(std::string text);

/// Throws compile_error for options that contradict each other.
/// @param model null if a function chooses the model of each call
/// @param has_late_hook whether an agent of version v1 has a hook after the model
void check_tools(const chat_model* model, const agent_tools& tools,
                 const std::vector<std::string>& return_direct, bool has_late_hook);

/// Returns why the tools bound to a model object do not match the agent's; nullopt if they do.
[[nodiscard]] std::optional<std::string> misfit_of_bound(const chat_model& model,
                                                         const tool_definitions& tools);
/// Returns why the tools bound to a model that was chosen for one call do not belong to the agent;
/// nullopt if they do.
[[nodiscard]] std::optional<std::string> misfit_of_chosen(const chat_model& model,
                                                          const tool_definitions& tools);

} // namespace superstep::react

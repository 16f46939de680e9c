// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/middleware.hpp>
#include <superstep/tools/tool.hpp>
#include <superstep/tools/tool_node.hpp>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// What agents do at each turn, for every kind of state.
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

/// The message that takes the place of an answer for which no steps are left.
inline constexpr auto no_more_steps = "Sorry, need more steps to process this request.";

using tool_names = std::set<std::string, std::less<>>;

/// How many answers of a model there are: the number of its next call.
[[nodiscard]] std::uint32_t answers_in(const message_list& messages);

/// A call of a model before it is made.
using model_turn = model_call;

/// Calls that may start while the model still speaks; null: none.
using early_ptr = std::shared_ptr<const early_tools>;

/// Declares tools of an agent safe to start early. The tools are those of before, and give the
/// answers that are there already. Throws compile_error for what cannot start early.
[[nodiscard]] early_ptr make_early(agent_tools& tools, const std::vector<std::string>& names);

/// Options of a run's caller for its agents; null if there are none.
using context_ptr = std::shared_ptr<const agent_context>;
[[nodiscard]] context_ptr context_of(const runtime& rt);

/// Returns what notifies the caller of a run of its tool calls; null: the caller does not ask.
[[nodiscard]] std::shared_ptr<const call_observer> observer_of(const context_ptr& asked);

/// Asks the model and streams its answer. Throws what it fails with.
[[nodiscard]] task<message> ask_model(model_turn turn, runtime rt, early_ptr early,
                                      context_ptr asked);

/// The schema of a response as models take it.
[[nodiscard]] answer_schema answer_schema_of(response_format format);

/// A structured response and what it cost.
struct response_answer {
  json::value value;
  std::optional<token_usage> usage;
};

/// Asks for the value that a run ends with. `turn` has the model, the messages and the number of
/// the call. Throws what the model fails with, and if the answer does not match the schema.
[[nodiscard]] task<response_answer> ask_response(model_turn turn, response_format format,
                                                 runtime rt, context_ptr asked);

/// Makes an answer what is stored: sets the name of the agent, or replaces the answer if too few
/// steps are left for its calls.
/// @param will_retry_answer whether the model is asked again even without calls
void finish(message& answer, const std::string& agent, std::int64_t steps_left,
            const tool_names& return_direct, bool will_retry_answer = false);

/// Whether the run ends after the tools: one that answers in place of the model was called.
[[nodiscard]] bool ends_directly(const message_list& messages, const tool_names& return_direct);

/// The calls of the latest answer that no tool message answers.
[[nodiscard]] std::vector<tool_call> pending_calls(const message_list& messages);

/// Rejects a history with calls without answers. `whole`: all of it; otherwise only what follows
/// the latest answer of a model.
void check_history(const message_list& messages, bool whole);

/// Throws graph_error{invalid_argument} with this text, and compile_error. @{
[[noreturn]] void refuse(std::string text);
[[noreturn]] void refuse_options(std::string text);
/// @}

/// Refuses options that do not fit each other. `model` is null when it is chosen per call;
/// `has_late_hook`: a post_model_hook of an agent of version v1.
void check_tools(const chat_model* model, const agent_tools& tools,
                 const std::vector<std::string>& return_direct, bool has_late_hook);

/// What is wrong with the tools that a model object brings along; nothing: it fits.
[[nodiscard]] std::optional<std::string> misfit_of_bound(const chat_model& model,
                                                         const tool_definitions& tools);
/// The same for a model that was chosen for one call.
[[nodiscard]] std::optional<std::string> misfit_of_chosen(const chat_model& model,
                                                          const tool_definitions& tools);

} // namespace superstep::react

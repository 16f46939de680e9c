// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/json_messages.hpp>
#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>
#include <superstep/base/task.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/runtime/json_graph.hpp>
#include <superstep/runtime/runtime.hpp>
#include <superstep/tools/tool_node.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

/// A function that is a node of a JSON graph, such as a hook of an agent.
///
/// The function takes the state and the runtime, and returns what a node of json_graph returns. It
/// may take the channels of the graph as a third parameter (`const json_channels*`, null outside a
/// graph), to read the input that a Send carries.
class json_step {
public:
  using takes_channels = void;

  json_step() = default;
  template <class F>
    requires std::invocable<const F&, const json::value&, runtime, const json_channels*>
  json_step(F f) : call_{std::move(f)} {}
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, json_step> &&
             std::invocable<const F&, const json::value&, runtime>)
  json_step(F f) {
    using made = std::invoke_result_t<const F&, const json::value&, runtime>;
    static_assert(detail::json_result<awaited_t<made>>,
                  "a hook returns nothing, a json::object, a json::value or a json_command, or a "
                  "task<> of one of these");
    call_ = [f = std::move(f)](const json::value& state, runtime rt,
                               const json_channels*) -> task<json_command> {
      if constexpr (is_task_v<made>) {
        return detail::command_later(f(state, std::move(rt)));
      } else if constexpr (std::is_void_v<made>) {
        f(state, std::move(rt));
        return ready(json_command{});
      } else {
        return ready(detail::as_command(f(state, std::move(rt))));
      }
    };
  }
  /// Whether a function is set.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  /// Calls the function. The state must outlive the task.
  [[nodiscard]] task<json_command> operator()(const json::value& state, runtime rt,
                                              const json_channels* channels = nullptr) const {
    return call_(state, std::move(rt), channels);
  }

private:
  std::function<task<json_command>(const json::value&, runtime, const json_channels*)> call_;
};

// Agents whose state is JSON, defined at run time: agent_options<json::value>.

/// One key of the state of a JSON agent: a channel with a named rule or a reducer. Besides the
/// rules of json_graph there is `messages`, which is add_json_messages().
struct json_state_key {
  std::string name;                     ///< of the key
  std::string rule = "last";            ///< name of the rule; ignored if `reduce` is set
  json_reducer reduce{};                ///< replaces the rule; may be empty
  std::optional<json::value> initial{}; ///< value before the first write
};

/// The channels of a JSON agent.
template <>
struct agent_schema<json::value> {
  /// Replaces the default keys `messages` and `remaining_steps`, which it must contain; with a
  /// response format also `structured_response`. Unset: the default keys.
  std::optional<std::vector<json_state_key>> keys{};
};

/// A hook of a JSON agent; see json_step. If a pre_model_hook writes `llm_input_messages`, the
/// model reads those instead of the messages, until the hook writes others. They are not part of
/// the output.
template <>
class agent_hook<json::value> : public json_step {
public:
  using json_step::json_step;
};

/// Parses "v1" or "v2"; other texts are errors.
[[nodiscard]] result<react_version> react_version_from(std::string_view text);

namespace detail {

/// The member of a JSON hook's update that contains its jump.
inline constexpr auto jump_key = "jump_to";

template <>
struct agent_access<json::value> {
  using update = json::object;
  static message_list messages(const json::value& state) { return messages_of(state); }
  static void add_messages(update& to, const message_list& more) {
    to["messages"] = to_json_list(more);
  }
};

template <>
struct agent_front<json::value> : agent_access<json::value> {
  using graph = compiled_json_graph;
  static constexpr bool has_response = true;

  static message_list chosen(const json::value& state);
  static std::uint32_t turn(const json::value& state);
  static bool is_unchecked(const json::value&) noexcept { return true; }
  static json::value seen_by_prompt(const json::value& state, const message_list& chosen);
  static void set_response(update& to, json::value response);
  static std::uint32_t answers_to_count(const json::value&) noexcept { return 0; }
  static void count_answer(update&, const std::optional<token_usage>&, std::uint32_t) noexcept {}
  static void count_tools(update&, std::size_t) noexcept {}
};

template <>
class agent_table<json::value> {
public:
  using core_ptr = agent_core<json::value>::ptr;

  explicit agent_table(const agent_options<json::value>& options);
  void add_model(const char* name, core_ptr agent);
  void add_response(core_ptr agent);
  void add_tools(core_ptr agent, bool takes_calls);
  void add_hook(const std::string& name, agent_hook<json::value> hook);
  void add_hook(const std::string& name, middleware_hook<json::value> hook);
  void route(std::string from, react::exits exits, const std::vector<std::string>& to);
  void route_tools(react::exits exits, react::tool_names return_direct,
                   const std::vector<std::string>& to);
  void edge(std::string from, std::string to);
  [[nodiscard]] compiled_json_graph compile(compile_options options);

private:
  [[nodiscard]] json_node_options reading_options() const;

  json_graph graph_{json_graph_options{.ignore_unknown_channels = true}};
  std::vector<std::string> seen_by_hooks_;
};

extern template class agent_builder<json::value>;

} // namespace detail

/// Makes a tool node for a JSON graph: `g.add("tools", json_tools_step(tools))`.
///
/// It runs the calls of the model's latest answer, the one call of a Send that json_tool_call()
/// made, or the calls that a Send carries as a list `[{type: tool_call, name, args, id}]`. Tools
/// with injected arguments read the channels of the graph. The resulting messages and commands
/// become the node's update and its next nodes.
/// Source: `ToolNode` in LangGraph 1.2.22, prebuilt/tool_node.py.
[[nodiscard]] json_step json_tools_step(tool_node tools);
/// Returns the output of a tool node that was stopped, for json_node_options::on_failure: the
/// answer to a single call that was stopped or took too long, or to all its calls if the run was
/// cancelled. nullopt for other failures.
/// @param given the input of the activation
[[nodiscard]] std::optional<json_command>
answer_stopped_tools(const tool_node& tools, const json::value& given, const run_error& why);

/// Returns the input of a Send to such a node: one call and the state that it was made in.
[[nodiscard]] json::value json_tool_call(const tool_call& call, const json::value& state);

/// Returns the tool calls of the last message if it is an AI message, else an empty list.
[[nodiscard]] std::vector<tool_call> calls_of_last(const json::value& state,
                                                   std::string_view messages_key = "messages");

} // namespace superstep

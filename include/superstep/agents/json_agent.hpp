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
/// @par Threads
/// All members may be called from any thread.
class json_step {
public:
  /// Marks the type for json_graph, which then passes the channels to the function.
  using takes_channels = void;

  /// Makes an empty object, which must not be called.
  json_step() = default;
  /// Wraps a function that takes the channels.
  /// @param f takes `(const json::value&, runtime, const json_channels*)` and returns a
  /// task<json_command>. Called by any number of runs at once.
  template <class F>
    requires std::invocable<const F&, const json::value&, runtime, const json_channels*>
  json_step(F f) : call_{std::move(f)} {}
  /// Wraps a function of state and runtime.
  /// @param f takes `(const json::value&, runtime)`; returns nothing, a json::object, a json::value
  /// or a json_command, or a task<> of one of these. Called by any number of runs at once.
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, json_step> &&
             std::invocable<const F&, const json::value&, runtime>)
  json_step(F f) {
    using made = std::invoke_result_t<const F&, const json::value&, runtime>;
    static_assert(detail::owns_its_runtime<F>,
                  "a coroutine takes runtime by value, not as const runtime&: a reference "
                  "would dangle after the first co_await");
    static_assert(detail::json_result<awaited_t<made>>,
                  "a hook must return nothing, a json::object, a json::value or a json_command, or "
                  "a task<> of one of these");
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
  /// Calls the function and returns its result as a task, which throws what the function throws. A
  /// function must be set.
  /// @param state the state; must outlive the task, like this object
  /// @param rt runtime of the calling node
  /// @param channels the channels of the graph, which must outlive the task; null outside a graph
  [[nodiscard]] task<json_command> operator()(const json::value& state, runtime rt,
                                              const json_channels* channels = nullptr) const {
    return call_(state, std::move(rt), channels);
  }

private:
  std::function<task<json_command>(const json::value&, runtime, const json_channels*)> call_;
};

// Agents whose state is JSON, defined at run time: agent_options<json::value>.

/// One key of the state of a JSON agent: a channel with a named rule or a reducer. Besides the
/// rules of json_graph there is the rule `messages`, which merges with add_json_messages().
struct json_state_key {
  std::string name;                     ///< name of the key
  std::string rule = "last";            ///< name of the rule; ignored if `reduce` is set
  json_reducer reduce{};                ///< reducer that replaces the rule; empty: none
  std::optional<json::value> initial{}; ///< value before the first write; used with `reduce` only
};

/// The channels of a JSON agent.
template <>
struct agent_schema<json::value> {
  /// The keys of the state; unset: `messages` and `remaining_steps`. A list must contain these two
  /// keys, and for an agent with a response format `structured_response` as well.
  std::optional<std::vector<json_state_key>> keys{};
};

/// A hook of a JSON agent; see json_step. A pre_model_hook may write `llm_input_messages`: the
/// model then reads these instead of `messages`, until the hook writes others. They are not part of
/// the run's output.
template <>
class agent_hook<json::value> : public json_step {
public:
  /// Inherits the constructors of json_step.
  using json_step::json_step;
};

/// Parses the name of a react_version, "v1" or "v2". May be called from any thread.
/// @return the version; errc::invalid_argument for another text
[[nodiscard]] result<react_version> react_version_from(std::string_view text);

namespace detail {

/// The member of a JSON hook's update that contains its jump.
inline constexpr auto jump_key = "jump_to";

/// Reads and writes the messages of a JSON state.
template <>
struct agent_access<json::value> {
  using update = json::object;
  static message_list messages(const json::value& state) { return messages_of(state); }
  static void add_messages(update& to, const message_list& more) {
    to["messages"] = to_json_list(more);
  }
};

/// Reads and writes a JSON state. It has no counters, and its whole history is always checked.
template <>
struct agent_front<json::value> : agent_access<json::value> {
  using graph = compiled_json_graph;
  static constexpr bool has_response = true;

  static message_list chosen(const json::value& state);
  static std::uint32_t turn(const json::value& state);
  static bool is_unchecked(const json::value&) noexcept { return true; }
  static json::value seen_by_prompt(const json::value& state, const message_list& chosen);
  static bool contains_response(const json::value& state);
  static void set_response(update& to, json::value response);
  static std::uint32_t answers_to_count(const json::value&) noexcept { return 0; }
  static void count_answer(update&, const token_usage*, std::uint32_t) noexcept {}
  static void count_tools(update&, std::size_t) noexcept {}
};

/// Builds the graph of an agent over a JSON state, as a json_graph.
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

extern template compiled_json_graph build_agent(agent_options<json::value>);

} // namespace detail

/// Makes a tool node for a JSON graph: `g.add("tools", json_tools_step(tools))`.
///
/// The node runs the calls of the model's latest answer. A Send to it carries one call, made with
/// json_tool_call(), or several as a list `[{type: tool_call, name, args, id}]`. Tools with
/// injected arguments read the channels of the graph. The resulting messages and commands become
/// the node's update and its next nodes.
///
/// This function does not throw and may be called from any thread. The node fails for failures that
/// tool_node_options::errors does not answer.
/// @param tools copied into the node; its limits are shared with all other copies
///
/// Source: `ToolNode` in LangGraph 1.2.22, prebuilt/tool_node.py.
[[nodiscard]] json_step json_tools_step(tool_node tools);
/// Returns the output of a tool node whose activation was stopped: error answers to its calls. For
/// json_node_options::on_failure of a node made with json_tools_step(). May be called from any
/// thread.
/// @param tools the node's tools
/// @param given the input of the activation
/// @param why the failure of the activation
/// @return the answers to all calls if the run was cancelled. For an activation with a single call,
/// also the answer to a timeout or an exit of its actor. nullopt for other failures
/// @throws tool_value_error or empty_message_list if `given` contains no valid calls
[[nodiscard]] std::optional<json_command>
answer_stopped_tools(const tool_node& tools, const json::value& given, const run_error& why);

/// Returns the input of a Send to a node made with json_tools_step(): one call, and the state of
/// the graph at the time of the call, from which arguments are injected. May be called from any
/// thread.
[[nodiscard]] json::value json_tool_call(const tool_call& call, const json::value& state);

/// Returns the tool calls of the last message if it is an AI message, else an empty list. May be
/// called from any thread.
/// @param state the state of the graph
/// @param messages_key key of the messages in the state
/// @throws std::invalid_argument if the state is not an object
[[nodiscard]] std::vector<tool_call> calls_of_last(const json::value& state,
                                                   std::string_view messages_key = "messages");

} // namespace superstep

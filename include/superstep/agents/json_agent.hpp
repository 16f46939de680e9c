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

/// A node of a JSON graph as a value: a hook of an agent. The function takes the state and the
/// runtime, and returns what bodies of json_graph return. It may take the channels of the graph as
/// a third parameter (`const json_channels*`, null outside a graph), for input that a Send carries.
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
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  /// The state lives until the task has ended.
  [[nodiscard]] task<json_command> operator()(const json::value& state, runtime rt,
                                              const json_channels* channels = nullptr) const {
    return call_(state, std::move(rt), channels);
  }

private:
  std::function<task<json_command>(const json::value&, runtime, const json_channels*)> call_;
};

// Agents whose state is known when the program runs: agent_options<json::value>.

/// One key of the state of a JSON agent: a channel of json_graph, by a named rule or by a reducer.
/// The rule `messages` is add_json_messages.
struct json_state_key {
  std::string name;
  std::string rule = "last";
  json_reducer reduce{}; ///< instead of a rule
  std::optional<json::value> initial{};
};

/// Channels of a JSON agent.
template <>
struct agent_schema<json::value> {
  /// Instead of messages and remaining_steps, which they must contain; with a response format also
  /// structured_response.
  std::optional<std::vector<json_state_key>> keys{};
};

/// A hook of a JSON agent: see json_step. What a pre_model_hook writes to `llm_input_messages` is
/// what the model reads instead of the messages. It stays until the hook writes others, and is not
/// part of the output.
template <>
class agent_hook<json::value> : public json_step {
public:
  using json_step::json_step;
};

/// "v1" or "v2"; an error for everything else.
[[nodiscard]] result<react_version> react_version_from(std::string_view text);

namespace detail {

/// Where a JSON hook jumps to is a member of its update with this name.
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
  static void count_answer(update&, const std::optional<token_usage>&) noexcept {}
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

/// A tool node as a node of a JSON graph: `g.add("tools", json_tools_step(tools))`. It runs the
/// calls of the latest answer of a model, the one call of a Send that json_tool_call() made, or the
/// calls that a Send carries as a plain list, `[{type: tool_call, name, args, id}]`; their tools
/// read the channels of the graph. The messages and commands that come of them are the node's update and where it goes.
[[nodiscard]] json_step json_tools_step(tool_node tools);
/// What such a node gives when it is stopped (json_node_options::on_failure): an answer to a call
/// whose actor was told to exit or that took too long, and to all its calls when the run is
/// cancelled.
[[nodiscard]] std::optional<json_command>
answer_stopped_tools(const tool_node& tools, const json::value& given, const run_error& why);

/// What a Send to such a node carries: one call and the state that it was made in.
[[nodiscard]] json::value json_tool_call(const tool_call& call, const json::value& state);

/// The calls of the last message, when it is an answer of a model.
[[nodiscard]] std::vector<tool_call> calls_of_last(const json::value& state,
                                                   std::string_view messages_key = "messages");

} // namespace superstep

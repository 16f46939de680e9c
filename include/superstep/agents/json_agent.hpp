// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/json_messages.hpp>
#include <superstep/agents/json_step.hpp>
#include <superstep/base/result.hpp>
#include <superstep/runtime/json_graph.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Agents whose state is JSON, defined at run time: agent_options<json::value>.
namespace superstep {

/// One key of the state of a JSON agent: a channel with a named rule or a reducer. Besides the
/// rules of json_graph there is `messages`, which is add_json_messages().
struct json_state_key {
  std::string name; ///< of the key
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

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// Agents whose state is a JSON object: the specialisations of agent_front and agent_table for a
// json_graph. agents/detail/agent_table.hpp has the templates for states that are described
// structs.
#include <superstep/agents/json_agent.hpp>
#include <superstep/messages/message_json.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

namespace {

constexpr auto model_input_key = "llm_input_messages";
constexpr auto response_key = "structured_response";

/// Returns the keys of the state. Throws compile_error if required keys are missing.
std::vector<json_state_key> keys_of(const agent_options<json::value>& options) {
  const auto& given = options.state.keys;
  auto keys = given.value_or(std::vector<json_state_key>{{"messages", "messages"},
                                                         {"remaining_steps", "remaining_steps"}});
  auto missing = std::string{};
  auto wanted = std::vector<std::string>{"messages", "remaining_steps"};
  if (options.response && given)
    wanted.emplace_back(response_key);
  std::ranges::sort(wanted);
  for (const auto& name : wanted)
    if (std::ranges::find(keys, name, &json_state_key::name) == keys.end())
      missing += (missing.empty() ? "'" : ", '") + name + "'";
  if (!missing.empty())
    react::refuse_options("state_schema: required channels are missing: " + missing);
  return keys;
}

/// Returns the messages that a router needs: all if `whole`, else only the last one, to avoid
/// parsing the history.
message_list routed_messages(const json::value& state, bool whole) {
  if (whole)
    return messages_of(state);
  const auto* list = state.as_object().if_contains("messages");
  if (list == nullptr || !list->is_array() || list->get_array().empty())
    return {};
  auto out = message_list{};
  if (auto last = message_from_json(list->get_array().back()))
    out.push_back(std::move(*last));
  return out;
}

/// Returns the jump that the preceding hook wrote into its update; jump::none if it wrote none.
jump jump_in(const json::value& state) {
  const auto* said = state.as_object().if_contains(detail::jump_key);
  if (said == nullptr || !said->is_string())
    return jump::none;
  for (const auto to : {jump::model, jump::tools, jump::finish})
    if (said->get_string() == react::name_of(to))
      return to;
  return jump::none;
}

/// Streams the messages that an update adds to the conversation.
void stream_new(const json::value& written, const json::value& before, const runtime& rt) {
  const auto* fields = written.if_object();
  if (!rt.streams_messages() || fields == nullptr || !fields->contains("messages"))
    return;
  try {
    const auto history = messages_of(before);
    for (const auto& m : messages_of(written))
      react::stream_new(rt, history, m);
  } catch (const std::exception&) { // the reducer reports invalid messages, or takes another form
  }
}

task<json_command> streamed(task<json_command> running, const json::value& state, runtime rt) {
  auto done = co_await running;
  stream_new(done.update, state, rt);
  co_return done;
}

task<json::object> run_hook(std::string name, middleware_hook<json::value> hook,
                            const json::value& state, runtime rt) {
  auto running = hook(state, rt);
  auto step = co_await running;
  react::check_jump(name, hook.jumps(), step.to);
  auto update = std::move(step.update);
  stream_new(update, state, rt);
  if (step.to != jump::none)
    update[detail::jump_key] = react::name_of(step.to);
  co_return update;
}

task<json_command> command_of(task<json::object> body) {
  auto update = co_await body;
  auto out = json_command{};
  out.update = std::move(update);
  co_return out;
}

/// Returns the node of a continuation, or its calls as Sends to the tools.
std::vector<json_target> targets_of(const react::continuation& next, const json::value& state) {
  if (next.calls.empty() && next.node == detail::end_node)
    return {}; // without a label, because the path map of the tools may have none for END
  if (next.calls.empty())
    return {std::string{next.node}};
  auto sends = std::vector<json_target>{};
  for (const auto& call : next.calls)
    sends.emplace_back(react::tools_name, json_tool_call(*call, state));
  return sends;
}

/// Returns a path map that maps each name to the node of the same name.
json_path_map named(const std::vector<std::string>& to) {
  auto out = json_path_map{};
  for (const auto& name : to)
    out.emplace_back(name, name);
  return out;
}

} // namespace

namespace detail {

message_list agent_front<json::value>::chosen(const json::value& state) {
  auto chosen = messages_of(state, model_input_key);
  return chosen.empty() ? messages_of(state) : chosen;
}

std::uint32_t agent_front<json::value>::turn(const json::value& state) {
  const auto& messages = state.at("messages").as_array();
  return static_cast<std::uint32_t>(
      std::ranges::count_if(messages, [](const auto& m) { return m.at("type") == "ai"; }));
}

json::value agent_front<json::value>::seen_by_prompt(const json::value& state,
                                                     const message_list& chosen) {
  auto seen = state;
  seen.as_object()["messages"] = to_json_list(chosen);
  seen.as_object().erase(model_input_key);
  return seen;
}

bool agent_front<json::value>::contains_response(const json::value& state) {
  const auto* response = state.as_object().if_contains(response_key);
  return response != nullptr && !response->is_null();
}

void agent_front<json::value>::set_response(update& to, json::value response) {
  to[response_key] = std::move(response);
}

agent_table<json::value>::agent_table(const agent_options<json::value>& options) {
  if (!options.tool_timeouts.empty())
    react::refuse_options("tool_timeouts requires a state that is a described struct; use "
                          "with_timeout() for the tools instead");
  const auto keys = keys_of(options);
  auto output = std::vector<std::string>{};
  for (const auto& key : keys) {
    if (key.reduce)
      graph_.channel(key.name, key.reduce, key.initial);
    else if (key.rule == "messages")
      graph_.channel(key.name, add_json_messages, json::array{}, failed_fold::leaves_value);
    else
      graph_.channel(key.name, key.rule);
    seen_by_hooks_.push_back(key.name);
    if (key.rule != "remaining_steps" && key.rule != "is_last_step")
      output.push_back(key.name);
  }
  if (options.response && std::ranges::find(seen_by_hooks_, response_key) == seen_by_hooks_.end()) {
    graph_.channel(response_key);
    seen_by_hooks_.emplace_back(response_key);
    output.emplace_back(response_key);
  }
  graph_.input(output);
  graph_.output(output);
  if (options.pre_model_hook)
    graph_.channel(model_input_key);
}

json_node_options agent_table<json::value>::reading_options() const {
  auto out = json_node_options{};
  out.reads = seen_by_hooks_;
  return out;
}

void agent_table<json::value>::add_model(const char* name, core_ptr agent) {
  graph_.add(name, [agent = std::move(agent)](const json::value& state, runtime rt) {
    return command_of(agent_turns<json::value>::ask(agent, state, std::move(rt)));
  });
}

void agent_table<json::value>::add_response(core_ptr agent) {
  graph_.add(
      react::structured_name,
      [agent = std::move(agent)](const json::value& state, runtime rt) {
        return agent_turns<json::value>::ask_response(agent, state, std::move(rt));
      },
      reading_options());
}

void agent_table<json::value>::add_tools(core_ptr agent, bool /*takes_calls*/) {
  react::check_injections(*agent->tools, {"the state", seen_by_hooks_});
  auto options = reading_options();
  options.on_failure = [agent](const json::value& given, const run_error& why) {
    return answer_stopped_tools(*agent->tools, given, why);
  };
  graph_.add(react::tools_name, json_tools_step(*agent->tools), std::move(options));
}

void agent_table<json::value>::add_hook(const std::string& name, agent_hook<json::value> hook) {
  graph_.add(
      name,
      [step = std::move(hook)](const json::value& state, runtime rt) {
        auto running = step(state, rt);
        return rt.streams_messages() ? streamed(std::move(running), state, std::move(rt))
                                     : std::move(running);
      },
      reading_options());
}

void agent_table<json::value>::add_hook(const std::string& name,
                                        middleware_hook<json::value> hook) {
  graph_.add(
      name,
      [name, hook = std::move(hook)](const json::value& state, runtime rt) {
        return run_hook(name, hook, state, std::move(rt));
      },
      reading_options());
}

void agent_table<json::value>::route(std::string from, react::exits exits,
                                     const std::vector<std::string>& to) {
  graph_.branch(
      std::move(from),
      [exits = std::move(exits)](const json::value& state) -> std::vector<json_target> {
        const auto said = jump_in(state);
        const auto messages = routed_messages(state, exits.is_looped || said == jump::tools);
        return targets_of(react::continue_after(exits, said, messages), state);
      },
      named(to));
}

void agent_table<json::value>::route_tools(react::exits exits, react::tool_names return_direct,
                                           const std::vector<std::string>& to) {
  graph_.branch(
      react::tools_name,
      [exits = std::move(exits),
       return_direct = std::move(return_direct)](const json::value& state) {
        return targets_of(react::continue_after_tools(exits, messages_of(state), return_direct),
                          state);
      },
      named(to));
}

void agent_table<json::value>::edge(std::string from, std::string to) {
  graph_.edge(std::move(from), std::move(to));
}

compiled_json_graph agent_table<json::value>::compile(compile_options options) {
  options.ignore_unknown_targets = true;
  return graph_.compile(std::move(options));
}

template compiled_json_graph build_agent(agent_options<json::value>);

} // namespace detail

result<react_version> react_version_from(std::string_view text) {
  if (text == "v1")
    return react_version::v1;
  if (text == "v2")
    return react_version::v2;
  return error{errc::invalid_argument,
               "Invalid version " + std::string{text} + ". Supported versions are 'v1' and 'v2'."};
}

} // namespace superstep

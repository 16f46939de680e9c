// SPDX-License-Identifier: Apache-2.0
// Tool nodes in JSON graphs: converts a state or the calls of a Send to tool_node_input, and
// converts the results to updates and Sends. tools/tool_node.cpp runs the calls.
#include <superstep/agents/detail/middleware_parts.hpp>
#include <superstep/agents/json_agent.hpp>
#include <superstep/agents/json_messages.hpp>
#include <superstep/messages/message_json.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace superstep {

namespace {

constexpr auto call_type = "tool_call_with_context";

std::vector<tool_call> calls_in(const json::array& calls) {
  auto holder = json::object{{"type", "ai"}, {"content", ""}, {"tool_calls", calls}};
  auto read = message_from_json(holder);
  if (!read || read->tool_calls.size() != calls.size())
    throw tool_value_error{"the tool node got an invalid tool call; a call is "
                           "{type: tool_call, name, args, id}" +
                           (read ? std::string{} : ": " + read.error().text)};
  return std::move(read->tool_calls);
}

bool is_call(const json::value& item) {
  const auto* members = item.if_object();
  const auto* type = members != nullptr ? members->if_contains("type") : nullptr;
  return type != nullptr && *type == "tool_call";
}

/// Returns the input for a Send that carries a plain list of calls. The tools read the state of the
/// graph.
tool_node_input input_of_list(const tool_node& tools, const json::array& list,
                              const json_channels* channels) {
  if (list.empty())
    throw empty_message_list{};
  if (!is_call(list.back()))
    throw tool_value_error{"the tool node got a list of items that are not tool calls; a call is "
                           "{type: tool_call, name, args, id}"};
  auto input = tools.from_calls(calls_in(list));
  if (channels != nullptr)
    input.state = json_tool_state(channels->read());
  return input;
}

/// Returns the calls that a Send carries, or those in the graph's state.
/// @param channels the channels of the graph; null if no tool needs the state
tool_node_input input_of(const tool_node& tools, const json::value& given,
                         const json_channels* channels) {
  if (const auto* list = given.if_array())
    return input_of_list(tools, *list, channels);
  const auto* object = given.if_object();
  if (object == nullptr)
    throw tool_value_error{"the tool node got " + to_text(given) +
                           " instead of a state or a list of tool calls"};
  const auto* type = object->if_contains("__type");
  if (type == nullptr || *type != call_type)
    return tools.from_state(json_tool_state(*object));
  auto calls = calls_in(json::array(1, object->at("tool_call")));
  return tools.from_call(std::move(calls.at(0)), json_tool_state(object->at("state").as_object()));
}

json::object update_of(const message& m, const std::string& key) {
  return {{key, json::array(1, to_json(m))}};
}

json::value update_of(tool_command& said, const std::string& key) {
  if (auto* fields = std::get_if<tool_update>(&said.update)) {
    if (!fields->messages)
      return json::value(std::move(fields->fields));
    auto out = json::object{};
    auto* field = fields->fields.begin();
    const auto move_until = [&](const json::key_value_pair* end) {
      for (; field != end; ++field)
        out[field->key()] = std::move(field->value());
    };
    move_until(field + std::min<std::size_t>(fields->messages_at, fields->fields.size()));
    out.emplace(key, to_json_list(message_list{*std::move(fields->messages)}));
    move_until(fields->fields.end());
    return json::value(std::move(out));
  }
  if (auto* list = std::get_if<std::vector<message>>(&said.update))
    return json::object{{key, to_json_list(message_list{std::move(*list)})}};
  return nullptr;
}

json_target target_of(tool_target to) {
  if (to.input)
    return {std::move(to.node), *std::move(to.input)};
  return {std::move(to.node)};
}

/// Adds a tool's command to the node's output. A command to the parent ends this graph, so it
/// replaces all other output.
void add_command(json_command& out, tool_command said, const std::string& key) {
  auto parent = json_command{};
  auto& into = said.to_parent ? parent : out;
  into.more.push_back(update_of(said, key));
  if (auto* one = std::get_if<tool_target>(&said.go_to))
    into.go_to.push_back(target_of(std::move(*one)));
  else if (auto* several = std::get_if<std::vector<tool_target>>(&said.go_to))
    for (auto& to : *several)
      into.go_to.push_back(target_of(std::move(to)));
  if (said.to_parent) {
    parent.to_parent = true;
    out = std::move(parent);
  }
}

json_command command_of(tool_node_output output, const std::string& key) {
  auto out = json_command{};
  if (!output.has_commands()) {
    auto& answers = out.update.emplace_object()[key].emplace_array();
    for (const auto& item : output.items)
      answers.emplace_back(to_json(std::get<message>(item)));
    return out;
  }
  for (auto& item : output.items) {
    if (const auto* m = std::get_if<message>(&item))
      out.more.emplace_back(update_of(*m, key));
    else
      add_command(out, std::get<tool_command>(std::move(item)), key);
    if (out.to_parent)
      break;
  }
  return out;
}

/// Streams the results of the calls, and the messages that commands add to this graph's state.
void stream(const tool_node_output& output, const tool_state* state, const std::string& key,
            const runtime& rt) {
  if (!rt.streams_messages())
    return;
  const auto before = state != nullptr ? state->messages(key) : message_list{};
  const auto stream_all = [&](const auto& messages) {
    for (const auto& m : messages)
      react::stream_new(rt, before, m);
  };
  for (const auto& item : output.items) {
    if (const auto* m = std::get_if<message>(&item)) {
      rt.emit_message(value{*m});
      continue;
    }
    const auto& said = std::get<tool_command>(item);
    if (said.to_parent)
      continue;
    const auto* fields = std::get_if<tool_update>(&said.update);
    if (fields != nullptr && fields->messages)
      stream_all(*fields->messages);
    else if (const auto* list = std::get_if<std::vector<message>>(&said.update))
      stream_all(*list);
  }
}

task<json_command> run_tools(std::shared_ptr<const tool_node> tools, tool_node_input input,
                             runtime rt) {
  const auto& key = tools->options().messages_key;
  const auto state = input.state;
  auto running = tools->run(std::move(input), rt);
  auto output = co_await running;
  stream(output, state.get(), key, rt);
  co_return command_of(std::move(output), key);
}

} // namespace

json_step json_tools_step(tool_node tools) {
  return [tools = std::make_shared<const tool_node>(std::move(tools))](
             const json::value& given, runtime rt, const json_channels* channels) {
    return run_tools(tools, input_of(*tools, given, channels), std::move(rt));
  };
}

std::optional<json_command> answer_stopped_tools(const tool_node& tools, const json::value& given,
                                                 const run_error& why) {
  const auto input = input_of(tools, given, nullptr);
  const auto* object = given.if_object();
  const auto is_one = object != nullptr ? object->contains("__type") : input.calls.size() == 1;
  const auto answers = react::answer_stopped(input.calls, is_one, why);
  if (answers.empty())
    return std::nullopt;
  auto out = json_command{};
  out.update = json::object{{tools.options().messages_key, to_json_list(answers)}};
  return out;
}

json::value json_tool_call(const tool_call& call, const json::value& state) {
  return json::object{
      {"__type", call_type},
      {"tool_call",
       {{"name", call.name}, {"args", call.args}, {"id", call.id}, {"type", "tool_call"}}},
      {"state", state}};
}

std::vector<tool_call> calls_of_last(const json::value& state, std::string_view messages_key) {
  const auto* list = state.as_object().if_contains(messages_key);
  if (list == nullptr || !list->is_array() || list->get_array().empty())
    return {};
  auto last = message_from_json(list->get_array().back());
  return last && last->type == message_type::ai ? std::move(last->tool_calls)
                                                : std::vector<tool_call>{};
}

} // namespace superstep

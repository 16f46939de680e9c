// SPDX-License-Identifier: Apache-2.0
// Recorded cases of a tool node without a graph, and of argument injection.
#include "case_tools.hpp"
#include "cases.hpp"
#include "message_form.hpp"

#include <superstep/base/await.hpp>
#include <superstep/checkpoint/store.hpp>
#include <superstep/runtime/detail/runtime_access.hpp>

#include <map>
#include <memory>
#include <utility>

namespace superstep::conformance {

namespace {

bool flag(const json::object& o, std::string_view name) {
  const auto* found = o.if_contains(name);
  return found != nullptr && found->is_bool() && found->get_bool();
}

message_list messages_at(const json::value& list) {
  auto out = message_list{};
  for (const auto& m : list.as_array())
    out.push_back(message_in(m));
  return out;
}

std::vector<tool_call> calls_at(const json::array& calls) {
  auto holder = json::object{{"type", "ai"}, {"content", ""}, {"tool_calls", calls}};
  return message_in(holder).tool_calls;
}

tool_node_input input_of(const tool_node& node, const json::object& given) {
  if (const auto* state = given.if_contains("state"))
    return node.from_state(json_tool_state(state->as_object()));
  if (const auto* list = given.if_contains("list"))
    return node.from_list(messages_at(*list));
  if (const auto* calls = given.if_contains("calls"))
    return node.from_calls(calls_at(calls->as_array()));
  return node.from_call(calls_at(json::array(1, given.at("call"))).at(0),
                        json_tool_state(given.at("with_state").as_object()));
}

json::value printed_output(const tool_node_output& out, const std::string& key, bool exact) {
  const auto is_list = out.form == tool_input_form::list;
  auto messages = json::array{};
  auto items = json::array{};
  for (const auto& item : out.items) {
    if (const auto* command = std::get_if<tool_command>(&item)) {
      items.push_back(printed_command(*command, key, exact));
      continue;
    }
    auto m = printed_message(std::get<message>(item), exact);
    messages.push_back(m);
    auto alone = json::array{};
    alone.push_back(std::move(m));
    items.push_back(is_list ? json::value(std::move(alone))
                            : json::value(json::object{{key, std::move(alone)}}));
  }
  if (out.has_commands())
    return items;
  if (is_list)
    return messages;
  return json::object{{key, std::move(messages)}};
}

/// Returns the store that a case requests, or null.
std::unique_ptr<memory_store> store_of(const json::object& input) {
  const auto* given = input.if_contains("store");
  if (given == nullptr || (!given->is_array() && !flag(input, "store")))
    return nullptr;
  auto out = std::make_unique<memory_store>();
  if (const auto* rows = given->if_array())
    for (const auto& row : *rows) {
      auto ns = store_namespace{};
      for (const auto& label : row.at(0).as_array())
        ns.emplace_back(std::string_view{label.as_string()});
      out->put(ns, row.at(1).as_string(), row.at(2).as_object());
    }
  return out;
}

runtime run_of(const json::object& input, store* memory) {
  auto config = std::make_shared<run_config>();
  if (const auto* context = input.if_contains("context"))
    config->context = std::make_shared<const json::object>(context->as_object());
  if (const auto* cap = input.if_contains("max_concurrency"))
    config->max_concurrency = cap->to_number<std::uint32_t>();
  auto rt = detail::runtime_access::make(std::move(config), "tools", 1, 0);
  detail::runtime_access::set_store(rt, memory);
  return rt;
}

json::value answer_tool_node(const json::object& input) {
  const auto exact = flag(input, "exact");
  auto runs = std::map<std::string, std::int64_t>{};
  auto options = make_node_options(input.at("node").as_object(), exact);
  const auto key = options.messages_key;
  const auto node =
      tool_node{make_case_tools(
                    input, [&](const std::string& name) { return ++runs[name]; }, key),
                std::move(options)};
  const auto memory = store_of(input);
  auto out = json::object{};
  try {
    auto given = input_of(node, input.at("input").as_object());
    const auto result = sync_wait(node.run(std::move(given), run_of(input, memory.get())));
    out["out"] = printed_output(result, key, exact);
  } catch (...) { // programs of cases throw exceptions of several types
    out["failed"] = printed_failure(std::current_exception(), exact);
  }
  auto& counts = out["runs"].emplace_object();
  for (const auto& [name, count] : runs)
    counts[name] = count;
  return out;
}

json::value answer_inject(const json::object& input) {
  auto options = tool_node_options{};
  if (const auto* key = input.if_contains("messages_key"))
    options.messages_key = std::string_view{key->as_string()};
  const auto node =
      tool_node{make_case_tools(input, [](const std::string&) { return 0; }), std::move(options)};
  const auto memory = store_of(input);
  auto environment = tool_environment{};
  environment.store = memory.get();
  if (const auto* list = input.if_contains("list"))
    environment.state = message_tool_state(messages_at(*list));
  else if (const auto* state = input.if_contains("state"))
    environment.state = json_tool_state(state->as_object());
  const auto call = calls_at(json::array(1, input.at("call"))).at(0);
  try {
    auto injected = node.inject_tool_args(call, environment);
    // Store and runtime are not JSON values: the tool gets them from its context.
    const auto* tool = node.find(call.name);
    const auto wanted = tool != nullptr ? tool->injections() : std::vector<injection>{};
    for (const auto& i : wanted) {
      if (i.from == injection::source::store)
        injected.args[i.argument] = json::object{{"$store", environment.store != nullptr}};
      else if (i.from == injection::source::runtime)
        injected.args[i.argument] = json::object{{"$runtime", true}};
    }
    return {
        {"call",
         {{"name", injected.name}, {"args", printed(injected.args, true)}, {"id", injected.id}}}};
  } catch (...) {
    return {{"failed", printed_failure(std::current_exception(), false)}};
  }
}

} // namespace

void add_tool_node_cases(case_table& table) {
  table["prebuilt.tool_node"] = answer_tool_node;
  table["prebuilt.inject"] = answer_inject;
}

} // namespace superstep::conformance

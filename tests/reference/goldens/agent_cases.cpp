// SPDX-License-Identifier: Apache-2.0
// Recorded cases of agents: builds an agent with create_react_agent as a case describes, and runs
// it.
#include "agent_form.hpp"
#include "case_agent.hpp"
#include "case_tools.hpp"
#include "cases.hpp"

#include <superstep/agents/create_agent.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/messages/message_json.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/tools/tool_node.hpp>

#include <algorithm>
#include <utility>

namespace superstep::conformance {

namespace {

using graph_cases::is_true;
using graph_cases::member;
using graph_cases::text_member;

[[noreturn]] void throw_refused(const std::string& text) {
  throw compile_error{{{graph_errc::invalid_graph, {}, text}}};
}

tool_definitions definitions_of(const tool_list& tools) {
  return tool_node{tools}.definitions();
}

/// Returns the definitions of the named tools.
tool_definitions named(const json::value& names, const case_world& world) {
  return definitions_of(case_tools({{"tools", names}}, world));
}

chat_model_ptr bound(chat_model_ptr model, const tool_definitions& tools) {
  return std::move(bind_tools(std::move(model), tools)).value();
}

agent_model<json::value> model_of(const json::object& script, const case_world& world) {
  const auto& dynamic = member(script, "dynamic");
  if (dynamic.is_null()) {
    auto model = make_case_model(script, {}, world.models);
    if (const auto& names = member(script, "bound"); names.is_array())
      return bound(std::move(model), named(names, world));
    return model;
  }
  auto models = std::map<std::string, chat_model_ptr>{};
  for (const auto& [label, one] : dynamic.at("models").as_object()) {
    auto& model = models[std::string{label}];
    model = make_case_model(one.as_object(), label, world.models);
    if (const auto& names = member(dynamic.as_object(), "bind"); names.is_array())
      model = bound(std::move(model), named(names, world));
  }
  return [models = std::move(models), pick = dynamic.at("pick")](const json::value& state,
                                                                 const runtime& rt) {
    const auto seen = seen_form(state);
    auto in = graph_cases::scope{};
    in.input = &seen;
    in.context = rt.context<json::object>();
    return models.at(graph_cases::as_text(graph_cases::evaluate(pick, in)));
  };
}

agent_prompt<json::value> prompt_of(const json::value& spec) {
  if (spec.is_string())
    return std::string{spec.get_string()};
  if (!spec.is_object())
    return {};
  if (const auto* text = spec.get_object().if_contains("system"))
    return system_message(std::string{text->as_string()});
  return [make = spec.at("fn")](const json::value& state, const runtime& rt) {
    const auto seen = seen_form(state);
    auto in = graph_cases::scope{};
    in.input = &seen;
    in.context = rt.context<json::object>();
    return std::move(messages_from_json(graph_cases::evaluate(make, in))).value();
  };
}

agent_hook<json::value> hook_of(const json::value& spec, const char* name,
                                const case_world& world) {
  if (!spec.is_object())
    return {};
  const auto program = std::make_shared<const node_of_case>(
      node_of_case{name, spec.at("ops").as_array(), world.counts});
  return [program](const json::value& state, runtime rt) { return program->run(state, rt); };
}

void unite(json::value& into, json::value&& more) {
  auto items = std::map<std::string, json::value>{};
  for (const auto* list : {&into, &more})
    for (const auto& item : list->as_array())
      items.emplace(to_canonical_text(item), item);
  auto& out = into.emplace_array();
  for (auto& [key, item] : items)
    out.push_back(std::move(item));
}

std::optional<std::vector<json_state_key>> state_of(const json::object& spec) {
  if (!spec.contains("state") && !spec.contains("state_missing"))
    return std::nullopt;
  auto keys =
      std::vector<json_state_key>{{"messages", "messages"}, {"remaining_steps", "remaining_steps"}};
  if (const auto& own = member(spec, "state"); own.is_object())
    for (const auto& [name, channel] : own.get_object())
      keys.push_back(case_key(name, channel.as_object()));
  if (spec.contains("response_format"))
    keys.push_back({"structured_response"});
  if (const auto& left_out = member(spec, "state_missing"); left_out.is_array())
    for (const auto& name : left_out.get_array())
      std::erase_if(keys, [&](const auto& key) { return key.name == name.as_string(); });
  return keys;
}

std::optional<response_format> response_of(const json::value& spec) {
  if (!spec.is_object())
    return std::nullopt;
  return response_format{spec.at("schema").as_object(), text_member(spec.as_object(), "prompt")};
}

std::vector<std::string> names_in(const json::value& list) {
  auto out = std::vector<std::string>{};
  if (list.is_array())
    for (const auto& name : list.get_array())
      out.emplace_back(name.as_string());
  return out;
}

json::value answer_agent(const json::object& input, engine& lanes) {
  const auto world = make_world(input, lanes);
  const auto& spec = input.at("agent").as_object();
  auto built = std::optional<compiled_json_graph>{};
  try {
    built.emplace(make_case_agent(spec, world));
  } catch (const compile_error& e) {
    auto text = json::object{{"kind", "refused"}, {"text", canonical_text(e.what(), world.exact)}};
    return {{"build_failed", std::move(text)}};
  }
  auto out = case_output(run_script(*built, world), world);
  // A model object is bound to the tools when the agent is built.
  const auto& dynamic = member(spec.at("model").as_object(), "dynamic");
  if (dynamic.is_null())
    world.models->offer(definitions_of(case_tools(spec, world)));
  if (auto offered = world.models->offered(); !offered.is_null())
    out["bound"] = std::move(offered);
  return out;
}

} // namespace

json_state_key case_key(std::string_view name, const json::object& channel) {
  static const auto rules =
      std::map<std::string, std::string, std::less<>>{{"int_add", "add"},
                                                      {"str_cat", "concat"},
                                                      {"list_cat", "append"},
                                                      {"max", "max"},
                                                      {"dict_merge", "merge"},
                                                      {"any", "any"},
                                                      {"messages", "messages"},
                                                      {"remaining_steps", "remaining_steps"},
                                                      {"is_last_step", "is_last_step"}};
  auto key = json_state_key{};
  key.name = name;
  const auto kind = text_member(channel, "kind");
  const auto* guard = channel.if_contains("guard");
  const auto is_guarded = guard == nullptr || is_true(*guard);
  if (const auto rule = rules.find(kind); rule != rules.end())
    key.rule = rule->second;
  else if (kind == "ephemeral")
    key.rule = is_guarded ? "ephemeral" : "any";
  else if (kind == "untracked")
    key.rule = is_guarded ? "untracked" : "untracked_any";
  else if (kind == "topic")
    key.rule = is_true(member(channel, "accumulate")) ? "accumulating_topic" : "topic";
  if (kind == "set_union") {
    key.reduce = unite;
    key.initial = json::array{};
  } else if (kind == "keep_first") {
    key.reduce = [](json::value&, json::value&&) {};
  }
  return key;
}

tool_list case_tools(const json::object& spec, const case_world& world) {
  auto out = tool_list{};
  const auto messages_key =
      spec.contains("messages_key") ? text_member(spec, "messages_key") : "messages";
  const auto& names = member(spec, "tools");
  const auto add = [&](const json::value& tool) {
    out.push_back(make_case_tool(
        tool.as_object(),
        [counts = world.counts](const std::string& name) { return counts->start(name); },
        messages_key));
  };
  const auto& all = world.input->at("tools").as_array();
  if (!names.is_array())
    std::ranges::for_each(all, add);
  else
    for (const auto& name : names.get_array())
      add(*std::ranges::find_if(all, [&](const auto& t) { return t.at("name") == name; }));
  return out;
}

tool_node case_tool_node(const json::object& spec, const case_world& world) {
  return tool_node{case_tools(spec, world), make_node_options(spec, world.exact)};
}

compiled_json_graph make_case_agent(const json::object& spec, const case_world& world) {
  auto options = react_agent_options<json::value>{};
  const auto version = react_version_from(text_member(spec, "version"));
  if (!version)
    throw_refused(version.error().text);
  options.version = *version;
  options.name = text_member(spec, "name");
  options.model = model_of(spec.at("model").as_object(), world);
  const auto tools = case_tools(spec, world);
  options.tools = case_tool_node(spec, world);
  for (const auto& tool : world.input->at("tools").as_array())
    if (is_true(member(tool.as_object(), "return_direct")) &&
        std::ranges::any_of(tools, [&](const auto& t) {
          return t->definition().name == tool.at("name").as_string();
        }))
      options.return_direct.emplace_back(tool.at("name").as_string());
  options.prompt = prompt_of(member(spec, "prompt"));
  options.response_format = response_of(member(spec, "response_format"));
  options.pre_model_hook = hook_of(member(spec, "pre_model_hook"), "@pre", world);
  options.post_model_hook = hook_of(member(spec, "post_model_hook"), "@post", world);
  options.state_schema.keys = state_of(spec);
  options.interrupt_before = names_in(member(spec, "interrupt_before"));
  options.interrupt_after = names_in(member(spec, "interrupt_after"));
  options.checkpointer = world.checkpointer;
  options.store = world.store;
  return create_react_agent(std::move(options));
}

case_world make_world(const json::object& input, engine& lanes) {
  auto world = case_world{};
  world.lanes = &lanes;
  world.input = &input;
  world.exact = is_true(member(input, "exact"));
  if (is_true(member(input, "checkpointer")))
    world.checkpointer = memory_checkpointer();
  const auto& rows = member(input, "store");
  if (rows.is_array() || is_true(rows))
    world.store = std::make_shared<memory_store>();
  if (rows.is_array())
    for (const auto& row : rows.get_array()) {
      auto ns = store_namespace{};
      for (const auto& label : row.at(0).as_array())
        ns.emplace_back(label.as_string());
      world.store->put(ns, std::string{row.at(1).as_string()}, row.at(2).as_object());
    }
  return world;
}

json::object case_output(json::array trace, const case_world& world) {
  auto out = json::object{};
  out["trace"] = std::move(trace);
  out["model"] = world.models->calls();
  if (!is_true(member(*world.input, "no_runs")))
    out["runs"] = world.counts->all();
  return out;
}

void add_agent_cases(case_table& table) {
  const auto lanes = std::make_shared<engine>(engine_options{.workers = 2});
  table["prebuilt.agent"] = [lanes](const json::object& input) {
    return answer_agent(input, *lanes);
  };
}

} // namespace superstep::conformance

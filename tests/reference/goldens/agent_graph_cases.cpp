// SPDX-License-Identifier: Apache-2.0
// Recorded cases of graphs whose nodes are agents, tool nodes, models, validation nodes and
// programs.
#include "agent_form.hpp"
#include "case_agent.hpp"
#include "cases.hpp"
#include "validation_case.hpp"

#include <superstep/agents/json_agent.hpp>
#include <superstep/agents/json_messages.hpp>
#include <superstep/messages/message_json.hpp>
#include <superstep/tools/tool_node.hpp>

#include <utility>

namespace superstep::conformance {

namespace {

using graph_cases::member;
using graph_cases::text_member;

std::string messages_key_of(const json::object& node) {
  return node.contains("messages_key") ? text_member(node, "messages_key") : "messages";
}

void add_channels(json_graph& g, const json::object& channels) {
  for (const auto& [name, channel] : channels) {
    const auto key = case_key(name, channel.as_object());
    if (key.reduce)
      g.channel(key.name, key.reduce, key.initial);
    else if (key.rule == "messages")
      g.channel(key.name, add_json_messages, json::array{});
    else
      g.channel(key.name, key.rule);
  }
}

task<json::object> ask(chat_model_ptr model, std::string key, message_list messages) {
  auto request = model_request{};
  request.messages = std::move(messages);
  request.tools = std::make_shared<const std::vector<tool_definition>>();
  auto asking = model->complete(std::move(request));
  auto answer = co_await asking;
  auto update = json::object{};
  update[key] = json::array(1, to_json(std::move(answer).value()));
  co_return update;
}

void add_model(json_graph& g, const json::object& node, const case_world& world) {
  auto model = make_case_model(node.at("model").as_object(), {}, world.models);
  g.add(text_member(node, "name"), [model, key = messages_key_of(node)](const json::value& state) {
    return ask(model, key, messages_of(state, key));
  });
}

void add_validation(json_graph& g, const json::object& node) {
  const auto checker = make_validation_node(node.at("validation").as_object());
  g.add(text_member(node, "name"), [checker](const json::value& state) {
    const auto answers = checker.run(messages_of(state)).value();
    return json::object{{"messages", to_json_list(message_list{answers})}};
  });
}

void add_node(json_graph& g, const json::object& node, const case_world& world) {
  const auto name = text_member(node, "name");
  if (const auto* spec = node.if_contains("agent")) {
    g.add(name, make_case_agent(spec->as_object(), world));
  } else if (const auto* tools = node.if_contains("tool_node")) {
    g.add(name, json_tools_step(case_tool_node(tools->as_object(), world)));
  } else if (node.contains("model")) {
    add_model(g, node, world);
  } else if (node.contains("validation")) {
    add_validation(g, node);
  } else {
    const auto program = std::make_shared<const node_of_case>(
        node_of_case{"@" + name, node.at("ops").as_array(), world.counts});
    g.add(name, [program](const json::value& state, runtime rt) {
      return program->run(state, std::move(rt));
    });
  }
}

json_path_map path_map_of(const json::value& map) {
  auto out = json_path_map{};
  if (const auto* pairs = map.if_object())
    for (const auto& [label, to] : *pairs)
      out.emplace_back(label, to.as_string());
  if (const auto* names = map.if_array())
    for (const auto& name : *names)
      out.emplace_back(name.as_string(), name.as_string());
  return out;
}

void add_branch(json_graph& g, const json::object& branch) {
  const auto source = text_member(branch, "source");
  auto map = path_map_of(member(branch, "path_map"));
  if (const auto* key = branch.if_contains("tools_condition")) {
    g.branch(
        source,
        [key = std::string{key->as_string()}](const json::value& state) {
          return std::string{tools_condition(state.as_object(), key).value()};
        },
        std::move(map));
    return;
  }
  g.branch(
      source,
      [path = branch.at("path")](const json::value& state, const run_config& config) {
        const auto seen = seen_form(state);
        auto in = graph_cases::scope{};
        in.input = &seen;
        in.context = config.context.get_if<json::object>();
        return targets_of(graph_cases::evaluate(path, in));
      },
      std::move(map));
}

json::value answer_graph(const json::object& input, engine& lanes) {
  const auto world = make_world(input, lanes);
  const auto& graph = input.at("graph").as_object();
  auto g = json_graph{json_graph_options{.ignore_unknown_channels = true}};
  add_channels(g, graph.at("channels").as_object());
  for (const auto& node : graph.at("nodes").as_array())
    add_node(g, node.as_object(), world);
  for (const auto& edge : graph.at("edges").as_array())
    g.edge(std::string{edge.at(0).as_string()}, std::string{edge.at(1).as_string()});
  for (const auto& branch : graph.at("branches").as_array())
    add_branch(g, branch.as_object());
  auto options = compile_options{};
  options.checkpointer = world.checkpointer;
  options.store = world.store;
  options.ignore_unknown_targets = true;
  if (const auto& before = member(graph, "interrupt_before"); before.is_array())
    for (const auto& name : before.get_array())
      options.interrupt_before.emplace_back(name.as_string());
  const auto compiled = g.compile(std::move(options));
  return case_output(run_script(compiled, world), world);
}

} // namespace

void add_agent_graph_cases(case_table& table) {
  const auto lanes = std::make_shared<engine>(engine_options{.workers = 2});
  table["prebuilt.graph"] = [lanes](const json::object& input) {
    return answer_graph(input, *lanes);
  };
}

} // namespace superstep::conformance

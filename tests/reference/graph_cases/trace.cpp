// SPDX-License-Identifier: Apache-2.0
// Converts results and events of superstep to the form of recorded traces.
#include "graph_cases/trace.hpp"

#include <algorithm>
#include <utility>

namespace superstep::graph_cases {

namespace {

/// Returns the traces' name for an error code of superstep.
json::object describe_code(const std::error_code& code, const std::string& text) {
  static const auto kinds =
      std::map<graph_errc, std::string>{{graph_errc::recursion_limit, "recursion_limit"},
                                        {graph_errc::unknown_label, "bad_label"},
                                        {graph_errc::bad_destination, "bad_destination"},
                                        {graph_errc::empty_input, "empty_input"},
                                        {graph_errc::no_checkpointer, "no_checkpointer"},
                                        {graph_errc::ambiguous_resume, "ambiguous_resume"},
                                        {graph_errc::no_parent, "no_parent"}};
  for (const auto& [known, kind] : kinds)
    if (code == known)
      return {{"kind", kind}};
  if (code == make_error_code(channel_errc::reducer_failed))
    return {{"kind", "reducer_error"}};
  if (code == errc::invalid_argument)
    return {{"kind", "bad_argument"}};
  if (code == graph_errc::invalid_update || code == make_error_code(channel_errc::invalid_update)) {
    auto out = json::object{{"kind", "invalid_update"}, {"code", nullptr}};
    // The traces contain LangGraph's error codes, which superstep does not have. Its texts differ
    // by code.
    if (text.find("Can receive only one ") != std::string::npos)
      out["code"] = "INVALID_CONCURRENT_GRAPH_UPDATE";
    else if (text.find("\nReturn a JSON object") != std::string::npos)
      out["code"] = "INVALID_GRAPH_NODE_RETURN_VALUE";
    return out;
  }
  return {{"kind", "node_error"}, {"class", code.category().name()}, {"message", text}};
}

/// Returns the writes by channel; a list if there are several.
json::object written(const compiled_json_graph& graph, const write_list& writes) {
  auto all = std::map<std::string, json::array>{};
  for (const auto& w : writes) {
    auto one = write_list{};
    one.push_back(w);
    const auto update = detail::adapter_of(graph).update(std::move(one));
    for (const auto& [key, v] : update.as_object())
      all[key].push_back(v);
  }
  auto out = json::object{};
  for (auto& [key, values] : all) {
    if (values.size() == 1)
      out[key] = shown(std::move(values.front()));
    else
      out[key] = json::object{{"$writes", shown(std::move(values))}};
  }
  return out;
}

json::value error_or_null(const std::string& text, const std::exception_ptr& cause) {
  if (cause)
    return describe_error(cause);
  if (!text.empty())
    return describe_code(graph_errc::node_failed, text);
  return nullptr;
}

json::object describe_task_event(const detail::run_event& event, const compiled_json_graph& graph) {
  if (event.at == detail::run_event::phase::started)
    return {{"event", "start"}, {"name", event.node}, {"input", shown(event.data)}};
  return {{"event", "finish"},
          {"name", event.node},
          {"error", error_or_null(event.error, event.cause)},
          {"interrupts", describe_questions(event.interrupts.value_or(std::vector<interrupt>{}))},
          {"result", written(graph, event.writes)}};
}

} // namespace

json::object describe_error(const std::exception_ptr& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const case_error& e) {
    return {{"kind", "node_error"}, {"class", e.type()}, {"message", e.what()}};
  } catch (const unsupported&) {
    throw;
  } catch (const graph_error& e) {
    return describe_error(e.details());
  } catch (const std::system_error& e) {
    return describe_code(e.code(), e.what());
  } catch (const restored_error& e) { // read from storage, without its C++ class
    const auto type = e.error_class();
    const auto is_named = type.find("::") == std::string_view::npos;
    return {
        {"kind", "node_error"}, {"class", is_named ? type : "Exception"}, {"message", e.what()}};
  } catch (const std::exception& e) {
    return {{"kind", "node_error"}, {"class", "Exception"}, {"message", e.what()}};
  }
}

json::object describe_error(const run_error& e) {
  if (e.code == graph_errc::node_failed && e.cause)
    return describe_error(e.cause);
  return describe_code(e.code, e.text);
}

json::value shown(json::value v) {
  if (v.is_object()) {
    auto out = json::object{};
    for (auto& [key, member] : v.get_object()) {
      const auto is_id =
          key == "id" && member.is_string() && member.get_string().starts_with('\x01');
      out[key == "__overwrite__" ? std::string_view{"$overwrite"} : std::string_view{key}] =
          is_id ? json::value("<auto>") : shown(std::move(member));
    }
    return out;
  }
  if (v.is_array()) {
    auto out = json::array{};
    for (auto& item : v.get_array())
      out.push_back(shown(std::move(item)));
    return out;
  }
  return v;
}

json::array describe_questions(const std::vector<interrupt>& questions) {
  auto out = json::array{};
  for (const auto& q : questions)
    out.push_back(q.value);
  std::ranges::sort(out, {}, to_canonical_text);
  return out;
}

json::object describe_event(const detail::run_event& event, const case_graphs& graphs) {
  const auto& graph = graphs.of(event.table.get());
  auto ns = json::array{};
  if (event.path)
    for (const auto& name : *event.path)
      ns.emplace_back(name);
  auto data = json::value{};
  auto mode = std::string{};
  if (event.mode == stream_mode::custom) {
    mode = "custom";
    data = event.data;
  } else if (event.mode == stream_mode::tasks) {
    mode = "tasks";
    data = describe_task_event(event, graph);
  } else if (event.mode == stream_mode::checkpoints) {
    mode = "checkpoints";
    auto next = json::array{};
    for (const auto& name : event.next)
      next.emplace_back(name);
    data = json::object{{"values", shown(detail::adapter_of(graph).state(*event.state))},
                        {"next", std::move(next)},
                        {"source", to_text(event.checkpoint->source)}};
  } else if (event.mode == stream_mode::values) {
    mode = "values";
    data = shown(event.table ? detail::adapter_of(graph).read(*event.state)
                             : detail::adapter_of(graph).state(*event.state));
    if (event.interrupts)
      data.as_object()["__interrupt__"] = describe_questions(*event.interrupts);
  } else {
    mode = "updates";
    if (event.interrupts)
      data = json::object{{"__interrupt__", describe_questions(*event.interrupts)}};
    else
      data = json::object{{event.node, shown(detail::adapter_of(graph).update(event.writes))}};
    if (event.is_cached)
      data.as_object()["__metadata__"] = json::object{{"cached", true}};
  }
  return {{"mode", mode}, {"ns", std::move(ns)}, {"step", event.step}, {"data", std::move(data)}};
}

json::object describe_state(const state_snapshot& state, const case_graphs& graphs) {
  if (!state.checkpoint)
    return {{"values", json::object{}}, {"next", json::array{}}, {"source", nullptr},
            {"step", nullptr},          {"has_parent", false},   {"interrupts", json::array{}},
            {"tasks", json::array{}}};
  const auto& graph = graphs.of(state.table.get());
  auto next = json::array{};
  for (const auto& name : state.next)
    next.emplace_back(name);
  auto tasks = json::array{};
  for (const auto& t : state.tasks) {
    auto task = json::object{{"name", t.node},
                             {"interrupts", describe_questions(t.interrupts)},
                             {"error", error_or_null(t.error, t.cause)},
                             {"result", nullptr}};
    if (t.result)
      task["result"] = written(graph, *t.result);
    if (t.nested)
      task["state"] = describe_state(*t.nested, graphs);
    tasks.push_back(std::move(task));
  }
  return {{"values", shown(detail::adapter_of(graph).state(*state.state))},
          {"next", std::move(next)},
          {"source", to_text(state.checkpoint->source)},
          {"step", state.checkpoint->step},
          {"has_parent", !state.checkpoint->parent.empty()},
          {"interrupts", describe_questions(state.interrupts())},
          {"tasks", std::move(tasks)}};
}

} // namespace superstep::graph_cases

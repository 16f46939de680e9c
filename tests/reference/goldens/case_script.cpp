// SPDX-License-Identifier: Apache-2.0
// Executes the calls of a case on its graph and records their results.
#include "actors/engine_access.hpp"
#include "agent_form.hpp"
#include "case_agent.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/threads/snapshot.hpp>

#include <algorithm>
#include <atomic>
#include <utility>

namespace superstep::conformance {

namespace {

using graph_cases::member;
using graph_cases::text_member;

/// Returns the thread id of a call. A state update derives message ids from it.
std::string thread_of(const json::object& call) {
  return made_id + (call.contains("thread") ? text_member(call, "thread") : "t");
}

json::array sorted(json::array values) {
  std::ranges::sort(values, {}, to_canonical_text);
  return values;
}

class script_runner {
public:
  script_runner(const compiled_json_graph& graph, const case_world& world)
      : graph_{graph}, world_{world} {}

  json::object run(const json::object& call) const {
    try {
      const auto verb = text_member(call, "do");
      if (verb == "invoke")
        return invoke(call);
      if (verb == "stream")
        return {{"events", stream(call)}};
      if (verb == "get_state")
        return {{"state", state(call)}};
      if (verb == "update_state")
        return update(call);
      if (verb == "store_dump")
        return {{"store", dump()}};
      throw std::logic_error{"unknown call '" + verb + "'"};
    } catch (const std::exception&) {
      return {{"failed", failure_form(std::current_exception(), world_.exact)}};
    }
  }

private:
  [[nodiscard]] json::value printed(const json::value& v) const {
    return printed_form(v, world_.exact);
  }

  [[nodiscard]] json::array questions(const std::vector<interrupt>& asked) const {
    auto out = json::array{};
    for (const auto& one : asked)
      out.push_back(printed(one.value));
    return sorted(std::move(out));
  }

  [[nodiscard]] detail::run_input input_of(const json::object& call) const {
    if (call.contains("resume") || call.contains("resume_map")) {
      auto said = detail::thread_command{};
      said.ignore_unknown_ids = true;
      if (call.contains("resume"))
        said.resume = call.at("resume");
      else
        said.resume_by_id = answers(call);
      return said;
    }
    const auto& given = member(call, "input");
    return given.is_null() ? detail::run_input::resume()
                           : detail::adapter_of(graph_).input(given.as_object());
  }

  /// Assigns each answer to the first unanswered pending interrupt with the given value.
  [[nodiscard]] std::map<std::string, json::value> answers(const json::object& call) const {
    auto open = get_state(detail::program_of(graph_), {thread_of(call), {}, {}}).interrupts();
    auto out = std::map<std::string, json::value>{};
    for (const auto& pair : call.at("resume_map").as_array()) {
      const auto found = std::ranges::find_if(
          open, [&](const interrupt& q) { return printed(q.value) == pair.at(0); });
      if (found == open.end())
        continue;
      out.emplace(found->id, pair.at(1));
      open.erase(found);
    }
    return out;
  }

  [[nodiscard]] run_config config_of(const json::object& call) const {
    static auto runs = std::atomic<std::uint64_t>{0};
    auto out = run_config{};
    out.run_id = made_id + std::to_string(runs++);
    if (const auto* limit = call.if_contains("recursion_limit"))
      out.recursion_limit = static_cast<std::uint32_t>(limit->as_int64());
    const auto& context = member(call, "context");
    out.context = std::make_shared<const json::object>(context.is_object() ? context.get_object()
                                                                           : json::object{});
    if (world_.checkpointer || call.contains("resume") || call.contains("resume_map") ||
        member(call, "input").is_null())
      out.thread_id = thread_of(call);
    const auto names = [&](std::string_view key) -> std::optional<std::vector<std::string>> {
      const auto* list = call.if_contains(key);
      if (list == nullptr)
        return std::nullopt;
      auto all = std::vector<std::string>{};
      for (const auto& name : list->as_array())
        all.emplace_back(name.as_string());
      return all;
    };
    auto& thread = out.thread.emplace();
    thread.interrupt_before = names("interrupt_before");
    thread.interrupt_after = names("interrupt_after");
    return out;
  }

  template <class See>
  detail::raw_result follow(const json::object& call, stream_mode modes, See see) const {
    auto run = detail::engine_access::open_stream(*world_.lanes, detail::program_of(graph_),
                                                  input_of(call), modes, config_of(call), 64);
    while (const auto event = run.next())
      see(*event);
    return run.result();
  }

  [[nodiscard]] json::object invoke(const json::object& call) const {
    // The result of a call is the last event of a `values` stream, if there is one.
    auto last = json::value{};
    const auto ended = follow(call, stream_mode::values, [&](const detail::run_event& event) {
      if (event.changes.empty() || detail::adapter_of(graph_).is_output(event.changes))
        last = printed(detail::adapter_of(graph_).read(*event.state));
    });
    auto out = json::object{{"out", std::move(last)}};
    if (ended.interrupts && !ended.interrupts->empty())
      out["interrupts"] = questions(*ended.interrupts);
    return out;
  }

  [[nodiscard]] json::value event_data(const detail::run_event& event) const {
    if (event.mode == stream_mode::custom)
      return event.data;
    if (event.mode == stream_mode::values) {
      auto data = printed(detail::adapter_of(graph_).read(*event.state));
      if (event.interrupts)
        data.as_object()["__interrupt__"] = questions(*event.interrupts);
      return data;
    }
    if (event.interrupts)
      return {{"__interrupt__", questions(*event.interrupts)}};
    return json::object{{event.node, printed(detail::adapter_of(graph_).update(event.writes))}};
  }

  [[nodiscard]] json::array stream(const json::object& call) const {
    auto modes = stream_mode::none;
    for (const auto& mode : call.at("modes").as_array())
      modes = modes | (mode == "values"    ? stream_mode::values
                       : mode == "updates" ? stream_mode::updates
                                           : stream_mode::custom);
    auto events = json::array{};
    static_cast<void>(follow(call, modes, [&](const detail::run_event& event) {
      const auto* name = event.mode == stream_mode::custom   ? "custom"
                         : event.mode == stream_mode::values ? "values"
                                                             : "updates";
      events.push_back(json::object{{"data", event_data(event)}, {"mode", name}});
    }));
    return in_order(std::move(events));
  }

  /// Sorts adjacent events of tools, because parallel tasks end in any order.
  static json::array in_order(json::array events) {
    const auto is_parallel = [](const json::value& event) {
      const auto& data = event.at("data");
      return event.at("mode") == "updates" && data.is_object() && data.get_object().size() == 1 &&
             (data.get_object().begin()->key() == "tools" ||
              data.get_object().begin()->key() == "__interrupt__");
    };
    for (auto from = events.begin(); from != events.end();) {
      from = std::find_if(from, events.end(), is_parallel);
      const auto to = std::find_if_not(from, events.end(), is_parallel);
      std::ranges::sort(from, to, {}, to_canonical_text);
      from = to;
    }
    return events;
  }

  [[nodiscard]] json::object state(const json::object& call) const {
    const auto seen = get_state(detail::program_of(graph_), {thread_of(call), {}, {}});
    auto next = std::vector<std::string>(seen.next.begin(), seen.next.end());
    std::ranges::sort(next);
    return {{"values",
             seen.state ? printed(detail::adapter_of(graph_).state(*seen.state)) : json::object{}},
            {"next", json::array(next.begin(), next.end())},
            {"interrupts", questions(seen.interrupts())}};
  }

  [[nodiscard]] json::object update(const json::object& call) const {
    auto edit = detail::state_edit{};
    edit.as_node = text_member(call, "as_node");
    if (const auto& values = member(call, "values"); values.is_object())
      edit.values = detail::adapter_of(graph_).edit(values.get_object());
    update_state(detail::program_of(graph_), {thread_of(call), {}, {}}, std::move(edit));
    return {{"ok", true}};
  }

  [[nodiscard]] json::array dump() const {
    auto out = json::array{};
    auto query = store_query{};
    query.limit = 10'000;
    if (world_.store)
      for (const auto& item : world_.store->search(query))
        out.push_back(
            json::array{json::array(item.ns.begin(), item.ns.end()), item.key, item.value});
    return sorted(std::move(out));
  }

  const compiled_json_graph& graph_;
  const case_world& world_;
};

} // namespace

json::array run_script(const compiled_json_graph& graph, const case_world& world) {
  const auto runner = script_runner{graph, world};
  auto trace = json::array{};
  for (const auto& call : world.input->at("script").as_array())
    trace.emplace_back(runner.run(call.as_object()));
  return trace;
}

} // namespace superstep::conformance

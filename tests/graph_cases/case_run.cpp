// SPDX-License-Identifier: Apache-2.0
#include "graph_cases/case_run.hpp"

#include "graph_cases/case_graph.hpp"

#include <memory>
#include <utility>

namespace superstep::graph_cases {

namespace {

json::object error_of(const std::exception_ptr& cause);

/// The kinds of the traces for what superstep calls by code.
json::object error_of(const std::error_code& code, const std::string& text) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string::npos; };
  if (code == graph_errc::recursion_limit)
    return {{"kind", "recursion_limit"}};
  if (code == graph_errc::unknown_label)
    return {{"kind", "bad_label"}};
  if (code == graph_errc::bad_destination)
    return {{"kind", "bad_destination"}};
  if (code == graph_errc::empty_input)
    return {{"kind", "empty_input"}};
  if (code == make_error_code(channel_errc::reducer_failed))
    return {{"kind", "reducer_error"}};
  if (code == errc::invalid_argument)
    return {{"kind", "bad_argument"}};
  if (code == graph_errc::invalid_update || code == make_error_code(channel_errc::invalid_update)) {
    auto out = json::object{{"kind", "invalid_update"}, {"code", nullptr}};
    for (const auto* help : {"INVALID_CONCURRENT_GRAPH_UPDATE", "INVALID_GRAPH_NODE_RETURN_VALUE"})
      if (has(help))
        out["code"] = help;
    return out;
  }
  return {{"kind", "node_error"}, {"class", code.category().name()}, {"message", text}};
}

json::object error_of(const std::exception_ptr& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const case_error& e) {
    return {{"kind", "node_error"}, {"class", e.type()}, {"message", e.what()}};
  } catch (const unsupported&) {
    throw;
  } catch (const std::system_error& e) {
    return error_of(e.code(), e.what());
  } catch (const std::exception& e) {
    return {{"kind", "node_error"}, {"class", "Exception"}, {"message", e.what()}};
  }
}

json::object error_of(const run_error& e) {
  if (e.code == graph_errc::node_failed && e.cause)
    return error_of(e.cause);
  return error_of(e.code, e.text);
}

/// How the traces write overwrites and ids that superstep made.
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

class case_runner {
public:
  case_runner(const json::object& test_case, engine& e)
      : engine_{e}, graph_{build(test_case, counts_)} {}

  json::object call(const json::object& what) {
    const auto verb = text_member(what, "do");
    if (verb != "invoke" && verb != "stream")
      throw unsupported{"the call '" + verb + "'"};
    for (const auto* option : {"resume", "resume_map", "command", "checkpoint"})
      if (what.contains(option))
        throw unsupported{std::string{"the option '"} + option + "'"};
    auto out = verb == "invoke" ? invoke(what) : stream(what);
    out["execs"] = counts_->all();
    return out;
  }

private:
  [[nodiscard]] write_list input(const json::object& what) const {
    const auto& given = member(what, "input");
    if (!given.is_object()) // without a checkpoint there is nothing that a call could go on from
      throw graph_error{run_error{
          make_error_code(given.is_null() ? graph_errc::empty_input : graph_errc::invalid_update),
          "Expected dict, got " + to_text(given) + "\nINVALID_GRAPH_NODE_RETURN_VALUE",
          {},
          0,
          {},
          1,
          {}}};
    auto own = json::object{};
    for (const auto& [key, v] : given.get_object())
      if (graph_.input.contains(std::string_view{key}))
        own[key] = v;
    return graph_.graph.input(own);
  }

  static run_config config_of(const json::object& what) {
    auto out = run_config{};
    if (const auto* limit = what.if_contains("recursion_limit"); limit && limit->is_int64())
      out.recursion_limit =
          static_cast<std::uint32_t>(std::max<std::int64_t>(0, limit->get_int64()));
    if (const auto* context = what.if_contains("context"); context && context->is_object())
      out.context = std::make_shared<const json::object>(context->get_object());
    return out;
  }

  /// A caller sees the output channels; a stream shows all of them.
  [[nodiscard]] json::object output(const state_block& state) const {
    auto out = json::object{};
    for (auto& [key, v] : graph_.graph.state(state))
      if (graph_.output.contains(std::string_view{key}))
        out[key] = shown(std::move(v));
    return out;
  }

  json::object invoke(const json::object& what) {
    try {
      auto ended = engine_.wait_for(graph_.graph.table(), input(what), config_of(what));
      if (ended.error)
        return {{"error", error_of(*ended.error)}};
      return {{"out", output(*ended.state)}, {"interrupts", json::array{}}};
    } catch (const graph_error&) {
      return {{"error", error_of(std::current_exception())}};
    }
  }

  json::object stream(const json::object& what) {
    auto modes = stream_mode::none;
    for (const auto& m : member(what, "modes").as_array())
      modes = modes | mode_of(m.as_string());
    auto events = json::array{};
    auto out = json::object{};
    try {
      auto run = engine_.open_stream(graph_.graph.table(), input(what), modes, config_of(what), 64);
      while (auto event = run.next())
        events.push_back(describe(*event));
    } catch (const graph_error& e) {
      out["error"] = error_of(e.details());
    }
    out["events"] = std::move(events);
    return out;
  }

  static stream_mode mode_of(std::string_view name) {
    if (name == "values")
      return stream_mode::values;
    if (name == "updates")
      return stream_mode::updates;
    if (name == "custom")
      return stream_mode::custom;
    throw unsupported{"the stream mode '" + std::string{name} + "'"};
  }

  json::object describe(run_event& event) {
    auto out = json::object{{"ns", json::array{}}, {"step", event.step}};
    if (event.mode == stream_mode::custom) {
      out["mode"] = "custom";
      out["data"] = std::move(event.data);
      return out;
    }
    if (event.mode == stream_mode::values) {
      out["mode"] = "values";
      out["data"] = shown(graph_.graph.state(*event.state));
      return out;
    }
    out["mode"] = "updates";
    out["data"] = json::object{{event.node, shown(graph_.graph.update(std::move(event.writes)))}};
    return out;
  }

  engine& engine_;
  std::shared_ptr<execution_counts> counts_ = std::make_shared<execution_counts>();
  case_graph graph_;
};

} // namespace

json::array run_case(const json::object& test_case, engine& e) {
  auto trace = json::array{};
  try {
    auto runner = case_runner{test_case, e};
    for (const auto& call : test_case.at("script").as_array())
      trace.emplace_back(runner.call(call.as_object()));
  } catch (const compile_error&) {
    trace.emplace_back(json::object{{"error", {{"kind", "build_error"}}}});
  } catch (const unsupported& lacking) {
    trace.emplace_back(json::object{{"unsupported", lacking.what()}});
  }
  return trace;
}

} // namespace superstep::graph_cases

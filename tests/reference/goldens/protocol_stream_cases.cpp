// SPDX-License-Identifier: Apache-2.0
// Recorded cases of protocol streams.
#include "protocol_stream_cases.hpp"

#include <map>
#include <utility>

namespace superstep::conformance {

namespace {

struct streamed {
  std::vector<protocol_event> events;
  std::vector<protocol_error> errors;
};

streamed run(const json::object& input) {
  auto out = streamed{};
  const auto protocol = protocol_of(input);
  const auto tools = tools_of(input);
  auto options = stream_options{};
  if (const auto* given = input.if_contains("options"); given && given->is_object())
    if (const auto* raw = given->get_object().if_contains("emitRawToolCallTextOnError"))
      options.emit_raw_on_error = raw->is_bool() && raw->get_bool();
  const auto stream = protocol->stream(
      tools, options, [&](protocol_event e) { out.events.push_back(std::move(e)); },
      [&](protocol_error e) { out.errors.push_back(std::move(e)); });
  for (const auto& chunk : input.at("chunks").as_array())
    stream->write({chunk.as_string().data(), chunk.as_string().size()});
  stream->finish();
  return out;
}

/// Whether each started input ended, and whether it became a call.
struct outcome {
  bool ended = false;
  bool called = false;
};

std::map<std::size_t, outcome> outcomes_of(const std::vector<protocol_event>& events) {
  auto out = std::map<std::size_t, outcome>{};
  for (const auto& event : events) {
    if (const auto* start = std::get_if<tool_input_start>(&event))
      out[start->call];
    else if (const auto* end = std::get_if<tool_input_end>(&event))
      out[end->call].ended = true;
    else if (const auto* call = std::get_if<stream_call>(&event); call && out.contains(call->call))
      out[call->call].called = true;
  }
  return out;
}

json::array list_of(const std::vector<protocol_error>& errors) {
  auto out = json::array{};
  for (const auto& e : errors)
    // Skip this error: another check compares the deltas with the arguments.
    if (e.code != "delta-mismatch")
      out.push_back(error_of(e));
  return out;
}

json::array tuple(std::initializer_list<std::string_view> texts) {
  auto out = json::array{};
  for (const auto text : texts)
    out.emplace_back(json::string_view{text.data(), text.size()});
  return out;
}

} // namespace

json::value stream_case(const json::object& input) {
  const auto result = run(input);
  const auto outcomes = outcomes_of(result.events);
  const auto hermes = string_of(input, "protocol") == "hermes";
  auto events = json::array{};
  auto text = std::string{};
  auto reason = "stop";
  const auto flush = [&] {
    if (!text.empty())
      events.push_back(json::object{{"type", "text"}, {"text", std::exchange(text, {})}});
  };
  for (const auto& event : result.events) {
    if (const auto* piece = std::get_if<stream_text>(&event)) {
      text += piece->text;
    } else if (const auto* start = std::get_if<tool_input_start>(&event)) {
      const auto& state = outcomes.at(start->call);
      if (hermes && !state.called)
        continue;
      flush();
      events.push_back(json::object{{"type", "tool-input"},
                                    {"toolName", start->name},
                                    {"ended", state.ended},
                                    {"called", state.called}});
    } else if (const auto* call = std::get_if<stream_call>(&event)) {
      flush();
      auto out = json::object{{"type", "tool-call"}, {"toolName", call->parsed.name}};
      add_arguments(out, call->parsed.arguments);
      out["same_id"] = outcomes.contains(call->call);
      events.push_back(std::move(out));
      reason = "tool-calls";
    }
  }
  flush();
  events.push_back(json::object{{"type", "finish"}, {"reason", reason}});
  return {{"events", std::move(events)}, {"errors", list_of(result.errors)}};
}

json::value deltas_case(const json::object& input) {
  const auto result = run(input);
  auto seq = json::array{};
  auto text = std::string{};
  const auto flush = [&] {
    if (!text.empty())
      seq.push_back(tuple({"text", std::exchange(text, {})}));
  };
  const auto id = [](std::size_t call) { return "call" + std::to_string(call); };
  for (const auto& event : result.events) {
    if (const auto* piece = std::get_if<stream_text>(&event)) {
      text += piece->text;
      continue;
    }
    flush();
    if (const auto* start = std::get_if<tool_input_start>(&event))
      seq.push_back(tuple({"start", id(start->call), start->name}));
    else if (const auto* delta = std::get_if<tool_input_delta>(&event))
      seq.push_back(tuple({"delta", id(delta->call), delta->text}));
    else if (const auto* end = std::get_if<tool_input_end>(&event))
      seq.push_back(tuple({"end", id(end->call)}));
    else if (const auto* call = std::get_if<stream_call>(&event))
      seq.push_back(tuple({"call", id(call->call), call->parsed.name, call->parsed.arguments}));
  }
  flush();
  auto out = json::object{};
  out["seq"] = std::move(seq);
  return out;
}

} // namespace superstep::conformance

// SPDX-License-Identifier: Apache-2.0
// Shortens the conversation for the model by hiding old tool results. The state is not changed.
#include <superstep/agents/prebuilt_middleware.hpp>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

namespace superstep {

namespace {

bool is_cleared(const message& m) {
  const auto* mark = m.response_metadata.if_contains("context_editing");
  return mark != nullptr && mark->is_object() && mark->get_object().contains("cleared");
}

message_ptr cleared(const message& m, const std::string& placeholder) {
  auto out = m;
  out.content = placeholder;
  out.blocks = {};
  out.artifact = nullptr;
  out.response_metadata["context_editing"] = {{"cleared", true}, {"strategy", "clear_tool_uses"}};
  return std::make_shared<const message>(std::move(out));
}

message_ptr without_input(const message& m, const std::string& call_id) {
  auto out = m;
  for (auto& call : out.tool_calls)
    if (call.id == call_id)
      call.args = {};
  return std::make_shared<const message>(std::move(out));
}

} // namespace

message_list clear_tool_results(message_list messages, const context_editing_options& options) {
  auto tokens = std::int64_t{0};
  struct caller {
    std::size_t message; // its index
    std::string tool;
  };
  struct tool_result {
    std::size_t message; // its index
    caller by;
  };
  auto callers = std::unordered_map<std::string, caller>{}; // by id: ids may be used again later
  auto results = std::vector<tool_result>{};
  for (auto i = std::size_t{0}; i < messages.size(); ++i) {
    const auto& m = messages[i];
    tokens += options.count(m);
    for (const auto& call : m.tool_calls)
      callers.insert_or_assign(call.id, caller{i, call.name});
    if (m.type != message_type::tool)
      continue;
    if (const auto by = callers.find(m.tool_call_id); by != callers.end())
      results.push_back({i, by->second});
  }
  if (tokens <= options.tokens_max)
    return messages;
  results.resize(results.size() - std::min(options.keep, results.size()));
  auto saved = std::int64_t{0};
  const auto replace = [&](std::size_t i, message_ptr with) {
    saved += options.count(messages[i]) - options.count(*with);
    messages.replace(i, std::move(with));
  };
  for (const auto& [i, by] : results) {
    const auto& excluded = options.exclude_tools;
    const auto& tool = messages[i].name.empty() ? by.tool : messages[i].name;
    if (is_cleared(messages[i]) || std::ranges::find(excluded, tool) != excluded.end())
      continue;
    const auto id = messages[i].tool_call_id;
    replace(i, cleared(messages[i], options.placeholder));
    if (options.clear_inputs)
      replace(by.message, without_input(messages[by.message], id));
    if (options.clear_at_least > 0 && saved >= options.clear_at_least)
      break;
  }
  return messages;
}

message_middleware context_editing(context_editing_options options) {
  auto out = message_middleware{};
  out.name = "ContextEditingMiddleware";
  out.wrap_model_call = [options = std::make_shared<const context_editing_options>(std::move(
                             options))](model_call call, const model_ask& ask, const runtime&) {
    call.messages = clear_tool_results(std::move(call.messages), *options);
    return ask(std::move(call));
  };
  return out;
}

} // namespace superstep

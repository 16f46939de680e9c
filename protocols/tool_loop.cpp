// SPDX-License-Identifier: Apache-2.0
// A minimal agent loop for programs without graphs: ask the model, run its tool calls, ask again.
#include "protocols/tool_loop.hpp"

#include <superstep/base/detail/assert.hpp>

#include <utility>

namespace superstep {

namespace {

message failed(std::string text, const std::string& id, const std::string& name) {
  auto out = tool_message(std::move(text), id, name);
  out.is_error = true;
  return out;
}

/// Returns the error text for a call of an unknown tool; empty if the tool is known.
std::string unknown_tool(const tool_definitions& tools, const std::string& name) {
  auto known = std::string{};
  if (tools)
    for (const auto& tool : *tools) {
      if (tool.name == name)
        return {};
      known += (known.empty() ? "" : ", ") + tool.name;
    }
  return "unknown tool \"" + name + "\"; available: " + (known.empty() ? "none" : known);
}

task<message> answer_of(call_function call, tool_call asked, tool_definitions tools) {
  const auto id = asked.id;
  const auto name = asked.name;
  if (auto fault = unknown_tool(tools, name); !fault.empty())
    co_return failed(std::move(fault), id, name);
  auto running = call(std::move(asked));
  auto text = co_await running;
  if (!text)
    co_return failed(text.error().text, id, name);
  co_return tool_message(std::move(*text), id, name);
}

} // namespace

task<result<tool_loop_result>> run_tool_loop(chat_model_ptr model, model_request request,
                                             call_function call, tool_loop_options options) {
  SUPERSTEP_ASSERT(model != nullptr && call != nullptr && options.steps_max > 0);
  auto out = tool_loop_result{};
  out.messages = request.messages;
  while (out.steps < options.steps_max) {
    request.messages = out.messages;
    request.turn = static_cast<std::uint32_t>(out.steps);
    auto asking = model->complete(request);
    auto answer = co_await asking;
    if (!answer)
      co_return answer.error();
    ++out.steps;
    const auto calls = answer->tool_calls;
    const auto broken = answer->invalid_tool_calls;
    out.messages.push_back(std::move(*answer));
    if (calls.empty() && broken.empty())
      co_return out;
    for (const auto& each : calls) {
      auto running = answer_of(call, each, request.tools);
      auto said = co_await running;
      out.messages.push_back(std::move(said));
    }
    for (const auto& each : broken)
      out.messages.push_back(
          failed("the arguments cannot be read: " + each.error, each.id, each.name));
  }
  out.end = tool_loop_end::step_limit;
  co_return out;
}

} // namespace superstep

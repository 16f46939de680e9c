// SPDX-License-Identifier: Apache-2.0
// Middleware with the tool `write_todos` and a system prompt that explains the tool.
#include "messages/python_text.hpp"
#include "tools/failed_call.hpp"

#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/agents/prebuilt_middleware.hpp>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace superstep::detail {

namespace {

constexpr auto tool_name = "write_todos";

constexpr auto our_description =
    "Writes the list of what you have to do, in place of the one before. Use it for work of three "
    "or more steps, or when the user gives you several things to do; not for what can be done at "
    "once. Mark a task in_progress before you begin it, completed as soon as it is done, and add "
    "what you find out must be done as well. Never call it more than once in one answer.";

constexpr auto our_prompt =
    "You have a tool `write_todos` to plan work of several steps and to show how far it is. Keep "
    "the list up to date while you work; leave it alone for simple requests.";

json::object parameters() {
  const auto item = json::object{
      {"type", "object"},
      {"properties",
       {{"content", {{"type", "string"}}},
        {"status", {{"type", "string"}, {"enum", {"pending", "in_progress", "completed"}}}}}},
      {"required", {"content", "status"}}};
  return {{"type", "object"},
          {"properties", {{"todos", {{"type", "array"}, {"items", item}}}}},
          {"required", json::array{"todos"}}};
}

class write_todos final : public tool {
public:
  write_todos(std::string field, std::string description)
      : definition_{tool_name, std::move(description), parameters()}, field_{std::move(field)} {}

  const tool_definition& definition() const noexcept override { return definition_; }
  task<tool_output> run(const tool_call& call, const tool_context&) const override {
    auto out = tool_output{};
    out.reply = tool_reply{written(call, field_)};
    co_return out;
  }

private:
  static tool_command written(tool_call call, const std::string& field) {
    auto update = tool_update{};
    auto& todos = call.args["todos"];
    update.messages.emplace().push_back(
        tool_message("Updated todo list to " + python_literal(todos), call.id, tool_name));
    update.fields[field] = std::move(todos);
    auto out = tool_command{};
    out.update = std::move(update);
    return out;
  }

  tool_definition definition_;
  std::string field_;
};

/// Rejects several calls in one answer. Each call replaces the whole list, so the result would
/// depend on their order.
message_step refuse_several(const message_list& messages) {
  auto out = message_step{};
  const auto calls = react::pending_calls(messages); // other middleware may have refused some
  if (std::ranges::count(calls, std::string_view{tool_name}, &tool_call::name) < 2)
    return out;
  for (const auto& call : calls)
    if (call.name == tool_name)
      out.messages.push_back(failed_call(
          call, "Error: The `write_todos` tool should never be called multiple times in parallel. "
                "Please call it only once per model invocation to update the todo list."));
  return out;
}

} // namespace

message_middleware todo_list_for(std::string field, todo_list_options options) {
  auto out = message_middleware{};
  out.name = "TodoListMiddleware";
  if (options.description.empty())
    options.description = our_description;
  out.tools = {std::make_shared<const write_todos>(std::move(field), options.description)};
  out.wrap_model_call = [prompt = options.prompt.empty() ? our_prompt : options.prompt](
                            model_call call, const model_ask& ask, const runtime&) {
    // A call that only requests the structured response offers no tools.
    if (call.tools && std::ranges::find(*call.tools, std::string_view{tool_name},
                                        &tool_definition::name) == call.tools->end())
      return ask(std::move(call));
    auto system = call.system ? *call.system : system_message("");
    if (system.blocks)
      system.blocks->push_back({{"type", "text"}, {"text", prompt}});
    else
      system.content += (system.content.empty() ? "" : "\n\n") + prompt;
    call.system = std::make_shared<const message>(std::move(system));
    return ask(std::move(call));
  };
  out.after_model.run = [](const message_list& messages, const runtime&) {
    return ready(refuse_several(messages));
  };
  return out;
}

} // namespace superstep::detail

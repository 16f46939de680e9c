// SPDX-License-Identifier: Apache-2.0
// A tool that runs another agent. The inner agent's graph runs as a subgraph of the task that
// executes the tool call.
#include "agents/agent_tool.hpp"

#include <superstep/runtime/detail/nested_run.hpp>
#include <superstep/runtime/detail/runtime_access.hpp>
#include <superstep/tools/tool_node.hpp>

#include <utility>

namespace superstep::detail {

namespace {

constexpr auto request_key = "request";

/// Returns the JSON Schema of the tool's arguments: one text named `request`.
json::object parameters() {
  auto request = json::object{};
  request["type"] = "string";
  request["description"] =
      "What the agent is to do, with everything it has to know: it sees nothing of this "
      "conversation.";
  auto out = json::object{};
  out["type"] = "object";
  out["properties"] = json::object{{request_key, std::move(request)}};
  out["required"] = json::array(1, json::value(request_key));
  return out;
}

/// Returns the result of the call: the inner agent's structured response if it has one, else its
/// last message.
tool_output answer_of(const nested_outcome& ended) {
  if (!ended.state)
    throw tool_exception{"the inner agent ended without a state"};
  const auto& state = static_cast<const struct_block<chat_state>&>(*ended.state).state;
  if (!state.structured_response.is_null())
    return superstep::output_of(state.structured_response);
  auto out = tool_output{};
  if (state.messages.empty())
    return out;
  const auto& last = state.messages.back();
  out.content = last.content;
  out.blocks = last.blocks;
  return out;
}

/// Runs the inner agent. The coroutine owns `environment`, because the runtime in it is the parent
/// of the inner run.
task<tool_output> run_agent(program_ptr table, write_list input,
                            std::shared_ptr<const tool_environment> environment) {
  auto running = run_nested(detail::runtime_access::services(*environment->run), std::move(table),
                            std::move(input));
  const auto ended = co_await running;
  co_return answer_of(ended);
}

class agent_tool final : public tool {
public:
  agent_tool(const sub_agent_options& options, program_ptr table) : table_{std::move(table)} {
    definition_.name = options.name;
    definition_.description = options.description.empty() ? "Asks the agent '" + options.name + "'."
                                                          : options.description;
    definition_.parameters = parameters();
  }

  [[nodiscard]] const tool_definition& definition() const noexcept override { return definition_; }
  [[nodiscard]] std::vector<injection> injections() const override {
    return {{"run", injection::source::runtime, {}, {}}};
  }
  [[nodiscard]] task<tool_output> run(const tool_call& call,
                                      const tool_context& context) const override {
    if (!context.environment || !context.environment->run)
      throw tool_exception{"an agent can be used as a tool only in a tool node that a graph runs"};
    auto input = chat_state{};
    const auto& request = call.args.at(request_key).as_string();
    input.messages.push_back(human_message(std::string{request.data(), request.size()}));
    return run_agent(table_, detail::input_writes(std::move(input)).writes, context.environment);
  }

private:
  program_ptr table_;
  tool_definition definition_;
};

} // namespace

tool_ptr make_agent_tool(const sub_agent_options& options,
                         const compiled_graph<chat_state>& agent) {
  return std::make_shared<const agent_tool>(options, detail::program_of(agent));
}

} // namespace superstep::detail

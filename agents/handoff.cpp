// SPDX-License-Identifier: Apache-2.0
// The tool by which an agent passes the conversation to another agent of the parent graph.
#include <superstep/agents/multi_agent.hpp>
#include <superstep/base/detail/assert.hpp>

#include <memory>
#include <stdexcept>
#include <utility>

namespace superstep {

namespace {

class handoff_tool final : public tool {
public:
  explicit handoff_tool(handoff_options options) : options_{std::move(options)} {
    definition_.name =
        options_.name.empty() ? "transfer_to_" + options_.agent : std::move(options_.name);
    definition_.description = options_.description.empty()
                                  ? "Ask agent '" + options_.agent + "' for help"
                                  : std::move(options_.description);
    definition_.parameters = {{"type", "object"}, {"properties", json::object{}}};
  }

  [[nodiscard]] const tool_definition& definition() const noexcept override { return definition_; }
  [[nodiscard]] std::vector<injection> injections() const override {
    return {{"run", injection::source::runtime, {}, {}}};
  }

  [[nodiscard]] bool commands_parent() const noexcept override { return true; }

  [[nodiscard]] task<tool_output> run(const tool_call& call,
                                      const tool_context& context) const override {
    if (!context.environment || !context.environment->state)
      throw std::logic_error{"a handoff tool needs the state of its agent: run it in a tool node "
                             "of a graph"};
    auto written = tool_update{};
    auto& messages = written.messages.emplace();
    for (const auto& m : context.environment->state->messages("messages"))
      messages.push_back(m);
    messages.push_back(
        tool_message("Successfully transferred to " + options_.agent, call.id, definition_.name));
    if (!options_.active_key.empty())
      written.fields[options_.active_key] = options_.agent;
    auto said = tool_command{};
    said.update = std::move(written);
    said.go_to = tool_target{options_.agent};
    said.to_parent = true;
    auto out = tool_output{};
    out.reply = tool_reply{std::move(said)};
    co_return out;
  }

private:
  handoff_options options_;
  tool_definition definition_;
};

} // namespace

tool_ptr make_handoff_tool(handoff_options options) {
  SUPERSTEP_ASSERT(!options.agent.empty());
  return std::make_shared<const handoff_tool>(std::move(options));
}

} // namespace superstep

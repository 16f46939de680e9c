// SPDX-License-Identifier: Apache-2.0
// The tool by which an agent passes the conversation to another agent of the parent graph.
#include "agents/team.hpp"
#include "base/ascii_text.hpp"
#include "tools/failed_call.hpp"

#include <superstep/agents/detail/react_loop.hpp>
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
    definition_.name = options_.name.empty() ? detail::handoff_name("transfer_to_", options_.agent)
                                             : std::move(options_.name);
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
    const auto history = context.environment->state->messages("messages");
    for (const auto& m : history)
      messages.push_back(m);
    // Providers require an answer to every call. The other calls that have no answer yet were not
    // run, or end without a result, because this one ends the agent.
    for (const auto& other : react::pending_calls(history))
      if (other.id != call.id)
        messages.push_back(failed_call(
            other, "No result: another call of the same answer transferred the conversation to " +
                       options_.agent));
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

std::string detail::handoff_name(std::string prefix, std::string_view agent) {
  constexpr auto spaces = std::string_view{" \t\n\v\f\r"};
  auto after_space = false;
  auto name = std::string{};
  for (const auto c : agent) {
    if (spaces.find(c) != std::string_view::npos) {
      after_space = true;
      continue;
    }
    if (std::exchange(after_space, false) && !name.empty())
      name += '_';
    name += ascii_lower(c);
  }
  return std::move(prefix) + name;
}

tool_ptr make_handoff_tool(handoff_options options) {
  SUPERSTEP_ASSERT(!options.agent.empty());
  return std::make_shared<const handoff_tool>(std::move(options));
}

} // namespace superstep

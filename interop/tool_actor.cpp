// SPDX-License-Identifier: Apache-2.0
// Tools whose calls are requests to CAF actors.
#include <superstep/interop/actor_client.hpp>
#include <superstep/tools/tool_node.hpp>

#include <utility>

namespace superstep {

namespace {

/// A tool that sends its arguments as JSON text and receives text.
class text_tool final : public tool {
public:
  text_tool(tool_definition definition, actor_client actor, actor_call_options options)
      : definition_{std::move(definition)}, actor_{std::move(actor)}, options_{options} {}

  [[nodiscard]] const tool_definition& definition() const noexcept override { return definition_; }
  [[nodiscard]] bool uses_environment() const noexcept override { return false; }
  [[nodiscard]] task<tool_output> run(const tool_call& call, const tool_context&) const override {
    auto asking =
        detail::actor_tool_answer(actor_.request<std::string>(options_, to_text(call.args)));
    auto out = tool_output{};
    out.content = co_await asking;
    co_return out;
  }

private:
  tool_definition definition_;
  actor_client actor_;
  actor_call_options options_;
};

} // namespace

tool_ptr detail::json_tool_actor(tool_definition definition, actor_client actor,
                                 actor_call_options options) {
  return std::make_shared<const text_tool>(std::move(definition), std::move(actor), options);
}

void detail::throw_unavailable(const error& why) {
  throw tool_unavailable{why};
}

} // namespace superstep

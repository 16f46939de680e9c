// SPDX-License-Identifier: Apache-2.0
// The router after a model node: selects the tools if the answer calls tools, otherwise the end.
#include <superstep/runtime/detail/program.hpp>
#include <superstep/tools/tool_node.hpp>

#include <string>

namespace superstep {

namespace {

std::string_view where_to(bool has_calls) noexcept {
  return has_calls ? "tools" : detail::end_node;
}

error no_messages(const std::string& state) {
  return {errc::invalid_argument,
          "cannot choose the next node: the state has no messages; the state: " + state};
}

} // namespace

result<std::string_view> tools_condition(const message_list& messages) {
  if (messages.empty())
    return no_messages("[]");
  return where_to(!messages[messages.size() - 1].tool_calls.empty());
}

result<std::string_view> tools_condition(const json::object& state, std::string_view messages_key) {
  const auto* found = state.if_contains(messages_key);
  const auto* messages = found != nullptr ? found->if_array() : nullptr;
  if (messages == nullptr || messages->empty())
    return no_messages(to_text(state));
  const auto* last = messages->back().if_object();
  const auto* calls = last != nullptr ? last->if_contains("tool_calls") : nullptr;
  return where_to(calls != nullptr && calls->is_array() && !calls->get_array().empty());
}

} // namespace superstep

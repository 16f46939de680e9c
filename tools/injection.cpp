// SPDX-License-Identifier: Apache-2.0
// Sets the arguments that the tool node provides instead of the model: the state, its fields and
// the store. tool.hpp has the types for make_tool().
#include "call_steps.hpp"

#include <superstep/messages/message_json.hpp>
#include <superstep/tools/make_tool.hpp>
#include <superstep/tools/tool.hpp>
#include <superstep/tools/tool_node.hpp>

#include <algorithm>
#include <exception>
#include <iterator>

namespace superstep {

namespace {

class json_state final : public tool_state {
public:
  explicit json_state(json::object fields) : fields_{std::move(fields)} {}

  [[nodiscard]] message_list messages(std::string_view key) const override {
    const auto* found = fields_.if_contains(key);
    if (found == nullptr || found->is_null())
      return {};
    return messages_from_json(*found, key).value();
  }
  [[nodiscard]] std::optional<json::value> field(std::string_view name) const override {
    const auto* found = fields_.if_contains(name);
    return found != nullptr ? std::optional{*found} : std::nullopt;
  }
  [[nodiscard]] json::object whole() const override { return fields_; }

private:
  json::object fields_;
};

class message_state final : public tool_state {
public:
  explicit message_state(message_list messages) : messages_{std::move(messages)} {}

  [[nodiscard]] message_list messages(std::string_view /*key*/) const override { return messages_; }
  [[nodiscard]] std::optional<json::value> field(std::string_view /*name*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] json::object whole() const override { return {}; }
  [[nodiscard]] bool is_list() const noexcept override { return true; }

private:
  message_list messages_;
};

bool is_of_state(const injection& i) {
  return i.from == injection::source::state || i.from == injection::source::field;
}

json::object with_messages(std::string_view key, const message_list& messages) {
  auto list = json::array{};
  for (const auto& m : messages)
    list.push_back(to_json(m));
  return {{key, std::move(list)}};
}

/// Returns a state with the single field `key`, for a tool node whose input is a list of messages.
/// Throws if the tool needs other fields.
tool_state_ptr fields_of_list(const std::vector<injection>& wanted, const tool_call& call,
                              const tool_state& list, std::string_view key) {
  const auto first = std::ranges::find_if(wanted, is_of_state);
  if (first == wanted.end())
    return nullptr;
  const auto is_alone = std::ranges::count_if(wanted, is_of_state) == 1;
  if (first->from == injection::source::state || (is_alone && first->field == key))
    return json_tool_state(with_messages(key, list.messages(key)));
  auto fields = std::string{};
  for (const auto& i : wanted)
    if (i.from == injection::source::field)
      fields += (fields.empty() ? "" : ", ") + i.field;
  throw tool_value_error{"tool '" + call.name + "' needs the state fields " + fields +
                         ", but the tool node's input is a list of messages; call the node with a "
                         "state"};
}

void add_field(tool_call& call, const injection& wanted, const tool_state* state) {
  auto found = state != nullptr ? state->field(wanted.field) : std::nullopt;
  if (found)
    call.args[wanted.argument] = *std::move(found);
  else if (!wanted.default_value)
    throw missing_state_field{wanted.field, call.name, wanted.argument};
}

[[noreturn]] void throw_no_store() {
  throw tool_value_error{
      "a tool uses the store, but the graph has none; set compile_options::store, or for an agent "
      "agent_options::store"};
}

/// Whether the path of a fault is that of an injected argument, or of a part of one.
bool is_of_injected(const argument_fault& fault, const std::vector<injection>& injected) {
  const auto name = std::string_view{fault.path}.substr(0, fault.path.find('.'));
  return std::ranges::any_of(injected, [&](const auto& i) { return i.argument == name; });
}

} // namespace

// As in LangGraph, the model reads only what it has written itself: _filter_validation_errors() in
// prebuilt/tool_node.py.
task<tool_output> detail::reject_arguments(const tool_call& call,
                                           const std::vector<injection>& injected,
                                           const std::vector<argument_fault>& faults) {
  SUPERSTEP_ASSERT(!faults.empty());
  auto args = call.args;
  for (const auto& i : injected)
    args.stable_erase(i.argument); // keeps the model's order
  auto of_model = std::vector<argument_fault>{};
  std::ranges::copy_if(faults, std::back_inserter(of_model),
                       [&](const auto& fault) { return !is_of_injected(fault, injected); });
  if (!of_model.empty())
    return fail_later(
        std::make_exception_ptr(tool_invocation_error{call.name, args, std::move(of_model)}));
  const auto& first = faults.front();
  return fail_later(std::make_exception_ptr(tool_unavailable{
      error{errc::invalid_argument, "tool '" + call.name + "': the value that is injected into '" +
                                        first.path + "' does not fit: it " + first.text +
                                        "; change the state, or the type of the member"}}));
}

tool_state_ptr json_tool_state(json::object state) {
  return std::make_shared<const json_state>(std::move(state));
}

tool_state_ptr message_tool_state(message_list messages) {
  return std::make_shared<const message_state>(std::move(messages));
}

tool_call inject_tool_args(const std::vector<injection>& wanted, tool_call call,
                           const tool_environment& environment, std::string_view messages_key) {
  for (const auto& i : wanted) // values from the model are ignored
    call.args.erase(i.argument);
  auto state = environment.state;
  if (state && state->is_list())
    state = fields_of_list(wanted, call, *state, messages_key);
  for (const auto& i : wanted) {
    if (i.from == injection::source::state)
      call.args[i.argument] = state ? state->whole() : json::object{};
    else if (i.from == injection::source::field)
      add_field(call, i, state.get());
  }
  const auto is_store = [](const injection& i) { return i.from == injection::source::store; };
  if (environment.store == nullptr && std::ranges::any_of(wanted, is_store))
    throw_no_store();
  return call;
}

store* store_of(const tool_context& context) {
  if (!context.environment || context.environment->store == nullptr)
    throw_no_store();
  return context.environment->store;
}

} // namespace superstep

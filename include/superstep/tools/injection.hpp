// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/messages/message_list.hpp>
#include <superstep/runtime/runtime.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace superstep {

/// An argument of a tool that its node fills in. The model neither sees nor sets it.
struct injection {
  enum class source : std::uint8_t {
    state,        ///< the whole state
    field,        ///< one field of it
    store,        ///< nothing is written: the tool finds it in its context, and there is one
    tool_call_id, ///< the id of the call
    runtime,      ///< nothing is written: the tool finds it in its context
  };
  std::string argument;
  source from = source::state;
  std::string field{}; ///< of source::field
  /// What is written when the state has no such field; unset: that is an error.
  std::optional<json::value> default_value{};
};

/// The state of a graph as tools may see it. Written as JSON only where a tool asks for it.
/// @par Threads
/// Immutable: any number may read at once.
class tool_state {
public:
  tool_state() = default;
  tool_state(const tool_state&) = delete;
  tool_state& operator=(const tool_state&) = delete;
  virtual ~tool_state() = default;

  /// The messages under a key; empty when there are none. Throws where they are no messages.
  [[nodiscard]] virtual message_list messages(std::string_view key) const = 0;
  [[nodiscard]] virtual std::optional<json::value> field(std::string_view name) const = 0;
  [[nodiscard]] virtual json::object whole() const = 0;
  /// The state is nothing but a list of messages: it has no fields.
  [[nodiscard]] virtual bool is_list() const noexcept { return false; }
};
using tool_state_ptr = std::shared_ptr<const tool_state>;

/// A state of JSON channels.
[[nodiscard]] tool_state_ptr json_tool_state(json::object state);
/// Messages alone.
[[nodiscard]] tool_state_ptr message_tool_state(message_list messages);

/// What a node of tools was given: it decides which Commands its tools may hand back.
enum class tool_input_form : std::uint8_t { state, list, calls };

/// What the calls of one activation have around them; made once and shared by them.
struct tool_environment {
  tool_input_form form = tool_input_form::state;
  tool_state_ptr state{};                  ///< null: none, as for direct calls outside a graph
  superstep::store* store = nullptr;       ///< long-term memory; outlives the calls
  std::optional<superstep::runtime> run{}; ///< of the node: context, events, interrupts
};

/// The call as its tool gets it: without what the model gave for injected arguments, and with what
/// the node has for them. `call` stays as it is.
/// Throws missing_state_field, or tool_value_error: no store, or a list of messages where the tool
/// wants fields.
/// @param messages_key what a list of messages counts as
[[nodiscard]] tool_call inject_tool_args(const std::vector<injection>& wanted, tool_call call,
                                         const tool_environment& environment,
                                         std::string_view messages_key = "messages");

struct tool_context;
/// The store around a call. Throws tool_value_error when there is none.
[[nodiscard]] superstep::store* store_of(const tool_context& context);

} // namespace superstep

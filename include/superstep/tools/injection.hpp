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

/// An argument of a tool that the tool node fills in. The model neither sees nor sets it.
struct injection {
  /// Where the value comes from.
  enum class source : std::uint8_t {
    state,        ///< the whole state
    field,        ///< one field of the state
    store,        ///< no argument is set; the tool uses the store of its context, which must exist
    tool_call_id, ///< the id of the call
    runtime,      ///< no argument is set; the tool uses the runtime of its context
  };
  std::string argument; ///< name of the argument
  source from = source::state;
  std::string field{}; ///< name of the field, for source::field
  /// Value to use if the state has no such field; unset: the call fails.
  std::optional<json::value> default_value{};
};

/// Read access to the state of a graph, for tools. Implementations convert to JSON only the parts
/// that a tool asks for.
/// @par Threads
/// Immutable; all members may be called by any number of threads.
class tool_state {
public:
  tool_state() = default;
  tool_state(const tool_state&) = delete;
  tool_state& operator=(const tool_state&) = delete;
  virtual ~tool_state() = default;

  /// Returns the messages under a key; an empty list if there is no such key. Throws if the value
  /// is not a list of messages.
  [[nodiscard]] virtual message_list messages(std::string_view key) const = 0;
  /// Returns a field as JSON; nullopt if the state has no such field.
  [[nodiscard]] virtual std::optional<json::value> field(std::string_view name) const = 0;
  /// Returns all fields as JSON.
  [[nodiscard]] virtual json::object whole() const = 0;
  /// Whether the state is only a list of messages and has no fields.
  [[nodiscard]] virtual bool is_list() const noexcept { return false; }
};
/// Shared, immutable access to a state.
using tool_state_ptr = std::shared_ptr<const tool_state>;

/// Returns a state from a JSON object.
[[nodiscard]] tool_state_ptr json_tool_state(json::object state);
/// Returns a state that is only a list of messages.
[[nodiscard]] tool_state_ptr message_tool_state(message_list messages);

/// The kind of input that a tool node got. It determines which Commands its tools may return.
enum class tool_input_form : std::uint8_t { state, list, calls };

/// The environment of the calls of one activation; created once and shared by them.
struct tool_environment {
  tool_input_form form = tool_input_form::state;
  tool_state_ptr state{};                  ///< null for calls outside a graph
  superstep::store* store = nullptr;       ///< long-term memory; outlives the calls; null: none
  std::optional<superstep::runtime> run{}; ///< runtime of the node: context, events, interrupts
};

/// Returns the call with the injected arguments set. Values that the model gave for them are
/// discarded.
/// @param messages_key the key that a state without fields (a list of messages) counts as
/// @throws missing_state_field if the state lacks a field without default value
/// @throws tool_value_error if there is no store, or the state is a list but the tool needs fields
[[nodiscard]] tool_call inject_tool_args(const std::vector<injection>& wanted, tool_call call,
                                         const tool_environment& environment,
                                         std::string_view messages_key = "messages");

struct tool_context;
/// Returns the store of a call's environment. Throws tool_value_error if there is none.
[[nodiscard]] superstep::store* store_of(const tool_context& context);

} // namespace superstep

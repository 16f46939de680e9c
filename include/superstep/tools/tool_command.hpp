// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/messages/message.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace superstep {

/// What a tool writes to the state: fields, and messages under the messages key of its node.
struct tool_update {
  json::object fields;
  std::optional<std::vector<message>> messages{}; ///< unset: the key is not written at all
  /// The number of fields before the messages, for readers that see the writes in order. By default
  /// the messages come last.
  std::size_t messages_at = static_cast<std::size_t>(-1);
};

/// Where a tool sends the graph: a node, or a Send when there is an input.
struct tool_target {
  std::string node;
  std::optional<json::value> input{};
  friend bool operator==(const tool_target&, const tool_target&) = default;
};

/// What a tool may hand back instead of a result: writes to the state, and where the graph goes on.
/// Unless it goes to the parent it must hold the tool message that answers the call.
struct tool_command {
  /// A list of messages is for nodes whose input is a list of messages; all others take fields.
  std::variant<std::monostate, tool_update, std::vector<message>> update{};
  /// One target, or a list. Lists of Sends to the parent by several calls become one command.
  std::variant<std::monostate, tool_target, std::vector<tool_target>> go_to{};
  bool to_parent = false;
};

/// A part of what a call came to.
using tool_item = std::variant<message, tool_command>;
/// What a tool may hand back instead of content: a message of its own, a command, or a list of
/// these, exactly one message in it being the answer to the call.
using tool_reply = std::variant<message, tool_command, std::vector<tool_item>>;

} // namespace superstep

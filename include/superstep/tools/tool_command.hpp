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

/// The writes of a tool to the state: fields, and messages under the messages key of its node.
struct tool_update {
  json::object fields;                            ///< values by the name of the field
  std::optional<std::vector<message>> messages{}; ///< unset: the key is not written at all
  /// The number of fields that are written before the messages, for consumers that see the writes
  /// in order. Default: the messages come last.
  std::size_t messages_at = static_cast<std::size_t>(-1);
};

/// A node that a tool sends the graph to. With an input it is a Send.
struct tool_target {
  std::string node;                   ///< name of the node
  std::optional<json::value> input{}; ///< the Send's input; unset: an ordinary next node
  friend bool operator==(const tool_target&, const tool_target&) = default;
};

/// A result of a tool that writes to the state and chooses the next nodes. Unless it goes to the
/// parent, it must contain the tool message that answers the call.
/// Source: `Command` in LangGraph 1.2.22, types.py, as handled by prebuilt/tool_node.py.
struct tool_command {
  /// The writes. A list of messages requires a node whose input is a list; others take a
  /// tool_update.
  std::variant<std::monostate, tool_update, std::vector<message>> update{};
  /// The next nodes. Sends to the parent by several calls are merged into one command.
  std::variant<std::monostate, tool_target, std::vector<tool_target>> go_to{};
  bool to_parent = false; ///< whether it applies to the parent graph
};

/// One item of a tool's result.
using tool_item = std::variant<message, tool_command>;
/// A result that replaces the content: a message, a command, or a list of these. Exactly one
/// message in a list must be the answer to the call.
using tool_reply = std::variant<message, tool_command, std::vector<tool_item>>;

} // namespace superstep

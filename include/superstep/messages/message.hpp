// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/optional_box.hpp>
#include <superstep/base/stored_form.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// The author of a message. A `remove` message deletes the message with the same id (see
/// add_messages). A `chat` message has a free-form role. `function` is the chat-completions role
/// that `tool` replaced.
enum class message_type : std::uint8_t { human, ai, system, tool, remove, chat, function };

/// A model's request to run a tool, with parsed arguments. If the argument text is not a JSON
/// object, an invalid_tool_call is created instead.
struct tool_call {
  std::string id;
  std::string name;
  json::object args;

  friend bool operator==(const tool_call&, const tool_call&) = default;
};

/// A tool call whose arguments could not be parsed: `args` is the raw text, `error` the reason
/// (empty if the source does not give one).
struct invalid_tool_call {
  std::string id;
  std::string name;
  std::string args;
  std::string error;

  friend bool operator==(const invalid_tool_call&, const invalid_tool_call&) = default;
};

/// Token counts of one model answer. `input_details` and `output_details` contain the provider's
/// breakdown by name (cache_read, reasoning, …). `others` contains the members that only this
/// provider reports.
struct token_usage {
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t total_tokens = 0;
  json::object input_details;
  json::object output_details;
  json::object others = {};

  friend bool operator==(const token_usage&, const token_usage&) = default;
};

/// One message of a conversation. A plain value; immutable once it is in a message_list.
struct message {
  message_type type = message_type::human;
  bool is_error = false;            ///< tool only: status "error"
  std::string content;              ///< the text; empty when `blocks` is set
  optional_box<json::array> blocks; ///< content as a list of strings and objects
  std::string id;                   ///< empty: add_messages assigns one
  std::string name;
  std::vector<tool_call> tool_calls;                 ///< ai only
  std::vector<invalid_tool_call> invalid_tool_calls; ///< ai only
  std::string tool_call_id;                          ///< tool only: the call it answers
  json::value artifact;                              ///< tool only; never sent to a model
  optional_box<token_usage> usage;                   ///< ai only
  json::object response_metadata;
  json::object additional_kwargs;
  std::string role; ///< chat only: the free-form role

  friend bool operator==(const message&, const message&) = default;
};

/// Factory functions for messages that contain only a text and no id. @{
[[nodiscard]] message human_message(std::string text);
[[nodiscard]] message ai_message(std::string text, std::vector<tool_call> calls = {});
[[nodiscard]] message system_message(std::string text);
[[nodiscard]] message tool_message(std::string text, std::string tool_call_id, std::string name);
[[nodiscard]] message remove_message(std::string id);
/// @}

/// As the id of a `remove` message: deletes all messages before it.
inline constexpr std::string_view remove_all_messages = "__remove_all__";

/// Returns the text of a message: `content`, or the text of its string and text blocks,
/// concatenated.
[[nodiscard]] std::string text_of(const message&);

/// Stored forms for checkpoints. They write the JSON of message_json.hpp but read it strictly: a
/// member of the wrong type is an error.
template <>
struct stored_form<message> {
  static std::string type() { return "message"; }
  static void write(std::string& out, const message& from);
  static result<void> read(const json::value& from, message& into);
};
/// Stored form of a tool call.
template <>
struct stored_form<tool_call> {
  static std::string type() { return "tool call"; }
  static void write(std::string& out, const tool_call& from);
  static result<void> read(const json::value& from, tool_call& into);
};
/// Stored form of token counts.
template <>
struct stored_form<token_usage> {
  static std::string type() { return "token usage"; }
  static void write(std::string& out, const token_usage& from);
  static result<void> read(const json::value& from, token_usage& into);
};

} // namespace superstep

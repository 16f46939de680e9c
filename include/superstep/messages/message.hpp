// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/boxed.hpp>
#include <superstep/base/json.hpp>
#include <superstep/base/stored_form.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Who speaks. `remove` deletes the message whose id it carries (see add_messages). `chat` has a
/// role of its own; `function` is what chat-completion servers had before `tool`.
enum class message_type : std::uint8_t { human, ai, system, tool, remove, chat, function };

/// A model's request to run a tool. `args` are parsed; text that is no JSON object makes an
/// invalid_tool_call instead.
struct tool_call {
  std::string id;
  std::string name;
  json::object args;

  friend bool operator==(const tool_call&, const tool_call&) = default;
};

/// A call whose arguments could not be parsed: the raw text and what was wrong with it, which is
/// empty where nobody said.
struct invalid_tool_call {
  std::string id;
  std::string name;
  std::string args;
  std::string error;

  friend bool operator==(const invalid_tool_call&, const invalid_tool_call&) = default;
};

/// Tokens of one model answer. `input_details` and `output_details` hold the provider's finer
/// counts (cache_read, reasoning, …) by name, `others` what a provider tells beside all these.
struct token_usage {
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t total_tokens = 0;
  json::object input_details;
  json::object output_details;
  json::object others = {};

  friend bool operator==(const token_usage&, const token_usage&) = default;
};

/// One message of a conversation. Plain data; immutable once it is in a message_list.
struct message {
  message_type type = message_type::human;
  bool is_error = false;     ///< tool only: status "error"
  std::string content;       ///< the text, when `blocks` is not set
  boxed<json::array> blocks; ///< a list of strings and objects; `content` is empty then
  std::string id;            ///< empty: add_messages assigns one
  std::string name;
  std::vector<tool_call> tool_calls;                 ///< ai only
  std::vector<invalid_tool_call> invalid_tool_calls; ///< ai only
  std::string tool_call_id;                          ///< tool only: the call it answers
  json::value artifact;                              ///< tool only; never sent to a model
  boxed<token_usage> usage;                          ///< ai only
  json::object response_metadata;
  json::object additional_kwargs;
  std::string role; ///< chat only

  friend bool operator==(const message&, const message&) = default;
};

[[nodiscard]] message human_message(std::string text);
[[nodiscard]] message ai_message(std::string text, std::vector<tool_call> calls = {});
[[nodiscard]] message system_message(std::string text);
[[nodiscard]] message tool_message(std::string text, std::string tool_call_id, std::string name);
[[nodiscard]] message remove_message(std::string id);

/// Deletes everything before it when used as the id of a `remove` message.
inline constexpr std::string_view remove_all_messages = "__remove_all__";

/// The text of a message: `content`, or the text blocks joined.
[[nodiscard]] std::string text_of(const message&);

/// How messages and their parts are kept in checkpoints: as in message_json.hpp, read strictly.
template <>
struct stored_form<message> {
  static std::string type() { return "message"; }
  static void write(std::string& out, const message& from);
  static result<void> read(const json::value& from, message& into);
};
template <>
struct stored_form<tool_call> {
  static std::string type() { return "tool call"; }
  static void write(std::string& out, const tool_call& from);
  static result<void> read(const json::value& from, tool_call& into);
};
template <>
struct stored_form<token_usage> {
  static std::string type() { return "token usage"; }
  static void write(std::string& out, const token_usage& from);
  static result<void> read(const json::value& from, token_usage& into);
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/messages/messages.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Selects messages by name, id, type and tool call. A message that matches an exclusion is
/// dropped. If any of the include lists is not empty, a message must also match one of them.
struct message_filter {
  std::vector<std::string> include_names, exclude_names;
  std::vector<std::string> include_ids, exclude_ids;
  std::vector<message_type> include_types, exclude_types;
  /// Drops all tool messages, and all ai messages with tool calls.
  bool exclude_all_calls = false;
  /// Ids of tool calls to remove, together with the tool messages that answer them. An ai message
  /// left without tool calls is dropped.
  std::vector<std::string> exclude_calls;
};

/// Returns the messages that pass the filter, in order. Unchanged messages are not copied; both
/// lists share them. May be called from any thread.
/// Source: `filter_messages` in langchain-core 1.7.2, messages/utils.py.
[[nodiscard]] message_list filter_messages(const message_list&, const message_filter&);

/// Returns the number of tokens of one message. The tokens of a conversation are the sum over its
/// messages.
using token_counter = std::function<std::int64_t(const message&)>;

/// A token estimate by character count, for use as a token_counter.
///
/// Source: `count_tokens_approximately` in langchain-core 1.7.2, messages/utils.py.
struct approximate_tokens {
  double characters_per_token = 4.0; ///< greater than 0
  double extra_per_message = 3.0;    ///< for the role markers around a message
  double per_image = 85.0;           ///< fixed cost of an image (low detail)
  bool names_count = true;           ///< whether `name` is counted

  /// Estimates the tokens of a message: code points of text, role, name, call ids and calls,
  /// divided by characters_per_token, rounded up, plus extra_per_message, and per_image for each
  /// image. May be called from any thread.
  [[nodiscard]] std::int64_t operator()(const message&) const;
};

/// Estimates the tokens of a conversation. May be called from any thread.
[[nodiscard]] std::int64_t count_tokens_approximately(const message_list&,
                                                      const approximate_tokens& = {});

/// The end of a conversation that trim_messages() keeps: the newest or the oldest messages.
enum class trim_strategy : std::uint8_t { last, first };

/// Options of trim_messages().
struct trim_options {
  std::int64_t tokens_max = 0;                ///< the token budget
  token_counter count = approximate_tokens{}; ///< counts the tokens of a message; must not be empty
  trim_strategy strategy = trim_strategy::last; ///< which end of the conversation is kept
  /// Whether the message at the boundary may be kept in part: block by block for a list, then line
  /// by line for text.
  bool allow_partial = false;
  /// `last` only: keep a leading system message. Its tokens count.
  bool include_system = false;
  std::vector<message_type> start_on{}; ///< `last` only: drop messages before the first of these
  std::vector<message_type> end_on{};   ///< drop messages after the last of these
};

/// Returns the longest suffix (`last`) or prefix (`first`) of a conversation within a token budget.
/// Each message is counted at most once. If allow_partial is set, the message at the boundary is
/// counted again for each number of blocks and lines that is tried. With `last`, messages dropped
/// by end_on are not counted. May be called from any thread.
///
/// @return the messages; errc::invalid_argument if `first` is combined with an option for `last`
/// only
///
/// Source: `trim_messages` in langchain-core 1.7.2, messages/utils.py.
[[nodiscard]] result<message_list> trim_messages(const message_list&, const trim_options&);

/// Merges each run of adjacent messages of the same type into one message. Tool and remove messages
/// are never merged. Texts are joined with `separator`; block lists and tool calls are
/// concatenated, and usage is added. The merged message has the response metadata of the first
/// message of the run, and no name. Its id is that of the first message; for ai messages, an id
/// assigned by the provider takes precedence over a generated one. May be called from any thread.
///
/// @return the messages; the error of append() if two messages cannot be merged, for example
/// because two chat messages have different roles
///
/// Source: `merge_message_runs` in langchain-core 1.7.2, messages/utils.py.
[[nodiscard]] result<message_list> merge_message_runs(const message_list&,
                                                      std::string_view separator = "\n");

/// Labels and separator of buffer_string().
struct buffer_options {
  std::string human_prefix = "Human";
  std::string ai_prefix = "AI";
  std::string separator = "\n";
};

/// Renders a conversation as plain text for a prompt, one `Prefix: text` entry per message. Blocks
/// that are not text are left out. The tool calls of an ai message follow its text as a Python list
/// literal, the format that langchain-core prints. May be called from any thread.
///
/// @return the entries joined by `options.separator`; "" for an empty conversation
///
/// Source: `get_buffer_string` in langchain-core 1.7.2, messages/utils.py.
[[nodiscard]] std::string buffer_string(const message_list&, const buffer_options& = {});

/// Renders a conversation as XML for a prompt: `<message type="human">…</message>` per message,
/// with its tool calls, reasoning, documents and links to media. Base64 data is left out, and long
/// documents are truncated. May be called from any thread.
///
/// @param separator the text between two messages
///
/// Source: `get_buffer_string(format="xml")` in langchain-core 1.7.2, messages/utils.py.
[[nodiscard]] std::string buffer_xml(const message_list&, std::string_view separator = "\n");

/// Formats a message for a terminal: a title line with the author, the text, and the tool calls
/// with their arguments. A block that is not text appears as its type in brackets. The format is
/// not meant to be parsed. May be called from any thread.
///
/// Source: `BaseMessage.pretty_repr` in langchain-core 1.7.2, messages/base.py.
[[nodiscard]] std::string pretty_text(const message& m);
/// Formats a conversation, with an empty line between two messages. May be called from any thread.
[[nodiscard]] std::string pretty_text(const message_list& messages);

} // namespace superstep

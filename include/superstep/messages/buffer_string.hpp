// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message_list.hpp>

#include <string>
#include <string_view>

namespace superstep {

/// Labels and separator of buffer_string().
struct buffer_options {
  std::string human_prefix = "Human";
  std::string ai_prefix = "AI";
  std::string separator = "\n";
};

/// Renders a conversation as plain text for a prompt, one `Prefix: text` entry per message. Of
/// block content only the text blocks appear. The tool calls of an ai message follow its text as a
/// Python list literal, the format that langchain-core prints.
///
/// @return the entries joined by `options.separator`; "" for an empty conversation
/// Source: `get_buffer_string` in langchain-core 1.7.2, messages/utils.py.
[[nodiscard]] std::string buffer_string(const message_list&, const buffer_options& = {});

/// Renders a conversation as XML for a prompt: `<message type="human">…</message>` per message,
/// with its tool calls, reasoning, documents and links to media. Base64 data is left out, and long
/// documents are truncated.
///
/// @param separator the text between two messages
/// Source: `get_buffer_string(format="xml")` in langchain-core 1.7.2, messages/utils.py.
[[nodiscard]] std::string buffer_xml(const message_list&, std::string_view separator = "\n");

} // namespace superstep

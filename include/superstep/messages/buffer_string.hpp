// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message_list.hpp>

#include <string>
#include <string_view>

namespace superstep {

struct buffer_options {
  std::string human_prefix = "Human";
  std::string ai_prefix = "AI";
  std::string separator = "\n";
};

/// A conversation as text for a prompt: `Prefix: text` per message, of lists the text blocks only;
/// the calls of an answer follow its text as a list.
[[nodiscard]] std::string buffer_string(const message_list&, const buffer_options& = {});

/// The same as XML: `<message type="human">…</message>`, with calls, reasoning, documents and links
/// to images. Data that stands in the message itself is left out, and long documents are cut.
[[nodiscard]] std::string buffer_xml(const message_list&, std::string_view separator = "\n");

} // namespace superstep

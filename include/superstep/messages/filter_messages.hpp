// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message_list.hpp>

#include <string>
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

/// Returns the messages that pass the filter, in order. Unchanged messages are shared with the
/// given list, not copied.
/// Source: `filter_messages` in langchain-core 1.7.2, messages/utils.py.
[[nodiscard]] message_list filter_messages(const message_list&, const message_filter&);

} // namespace superstep

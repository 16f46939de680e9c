// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message_list.hpp>

#include <string>
#include <vector>

namespace superstep {

/// What a filter drops and keeps. Exclusions come first; then, when anything is to be included, a
/// message must match one of those.
struct message_filter {
  std::vector<std::string> include_names, exclude_names;
  std::vector<std::string> include_ids, exclude_ids;
  std::vector<message_type> include_types, exclude_types;
  /// Drops results of tools and answers that call any.
  bool exclude_all_calls = false;
  /// Drops the results of these calls, and the calls; an answer left without calls is dropped.
  std::vector<std::string> exclude_calls;
};

/// The messages that pass. Those that stay as they are are shared with the list given.
[[nodiscard]] message_list filter_messages(const message_list&, const message_filter&);

} // namespace superstep

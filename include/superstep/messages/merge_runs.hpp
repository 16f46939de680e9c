// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/messages/message_list.hpp>

#include <string_view>

namespace superstep {

/// Merges each run of adjacent messages of the same type into one message; tool messages are never
/// merged. Texts are joined with `separator`; block lists and tool calls are concatenated, and
/// usage is added. The merged message has the id and response metadata of the first one and no
/// name.
///
/// @return an error if the additional_kwargs of two messages cannot be merged
/// Source: `merge_message_runs` in langchain-core 1.7.2, messages/utils.py.
[[nodiscard]] result<message_list> merge_message_runs(const message_list&,
                                                      std::string_view separator = "\n");

} // namespace superstep

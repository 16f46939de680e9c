// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

#include <boost/container/small_vector.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace superstep {

/// Returns the index of the latest message of type ai; messages.size() if there is none.
[[nodiscard]] std::size_t last_ai_index(const message_list& messages);

/// The ids of tool calls, sorted. They refer to the messages of a history.
using call_ids = boost::container::small_vector<std::string_view, 16>;

/// Returns the ids of the calls that the messages from index `from` on answer.
[[nodiscard]] call_ids answered_calls(const message_list& messages, std::size_t from);

/// Whether the call is one of those that answered_calls() has returned.
[[nodiscard]] bool is_answered(const tool_call& call, const call_ids& answered);

/// Returns the latest message of type ai, or nullptr.
[[nodiscard]] const message* last_ai_message(const message_list& messages);

/// Returns an error text for tool calls without answers, which providers reject; nullopt if all
/// calls are answered.
/// @param whole true checks the whole history. False checks only the messages from the latest AI
/// message on, which is enough if an earlier call has checked the rest.
[[nodiscard]] std::optional<std::string> unanswered_call(const message_list& messages, bool whole);

} // namespace superstep

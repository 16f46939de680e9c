// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/short_list.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/runtime/detail/node_body.hpp>

#include <cstdint>

namespace superstep::react {

/// A tool call as the input of a Send to the tools. Shares the answer that contains the call, so
/// that the call is not copied.
class sent_call {
public:
  /// @param index index of the call in message::tool_calls
  sent_call(message_ptr answer, std::uint32_t index);

  const tool_call& operator*() const noexcept { return answer_->tool_calls[index_]; }
  const tool_call* operator->() const noexcept { return &**this; }

private:
  message_ptr answer_;
  std::uint32_t index_;
};

/// Calls to send. Most answers have few.
using sent_calls = detail::short_list<sent_call, 1>;

/// Returns the call that a Send to the tools carries: a sent_call, or a tool_call if the
/// application has made the Send. @pre given.payload is not null
[[nodiscard]] const tool_call& sent_call_of(const body_input& given);
/// Returns the form of these Sends in checkpoints, which is that of a tool_call.
[[nodiscard]] const value_form* form_of_sent_calls() noexcept;

/// Returns the calls of the latest answer that have no tool message.
[[nodiscard]] sent_calls pending_sends(const message_list& messages);

/// Sends a message to the reader of the run's stream, as runtime::emit_message() does.
void stream_answer(const body_input& given, const message& answer);
/// Whether a reader of the run's stream wants the messages of the node.
[[nodiscard]] bool streams_messages(const body_input& given);
/// Sends a message that a node writes to the reader of the run's stream, unless it removes messages
/// or replaces one of the history.
/// @param before the messages before the super-step
void stream_new(const body_input& given, const message_list& before, const message& written);
void stream_new(const runtime& rt, const message_list& before, const message& written);

} // namespace superstep::react

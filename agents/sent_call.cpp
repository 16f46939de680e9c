// SPDX-License-Identifier: Apache-2.0
// Tool calls as inputs of Sends. A Send shares the answer that contains its call. Checkpoints store
// the call alone.
#include "agents/chat_history.hpp"

#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/agents/detail/sent_call.hpp>
#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace superstep::react {

namespace {

const tool_call& call_in(const value& payload) {
  if (const auto* sent = payload.get_if<sent_call>())
    return **sent;
  return payload.as<tool_call>();
}

bool is_new(const message_list& before, const message& written) {
  return written.type != message_type::remove &&
         (written.id.empty() ||
          std::ranges::none_of(before, [&](const auto& m) { return m.id == written.id; }));
}

} // namespace

sent_call::sent_call(message_ptr answer, std::uint32_t index)
    : answer_{std::move(answer)}, index_{index} {
  SUPERSTEP_ASSERT(answer_ != nullptr && index_ < answer_->tool_calls.size());
}

const tool_call& sent_call_of(const body_input& given) {
  SUPERSTEP_ASSERT(given.payload != nullptr);
  return call_in(*given.payload);
}

const value_form* form_of_sent_calls() noexcept {
  static constexpr auto form =
      value_form{[] { return stored_type<tool_call>(); },
                 [](std::string& out, const value& from) { write_stored(out, call_in(from)); },
                 [](const json::value& from, const std::string& path) -> result<value> {
                   auto call = tool_call{};
                   if (auto done = read_stored(from, call, path); !done)
                     return result<value>{boost::system::in_place_error, done.error()};
                   return result<value>{boost::system::in_place_value, std::move(call)};
                 }};
  return &form;
}

sent_calls pending_sends(const message_list& messages) {
  auto pending = sent_calls{};
  const auto position = last_ai_index(messages);
  if (position == messages.size())
    return pending;
  const auto answer = messages.at_ptr(position);
  // Only messages after the answer count: some servers use the same ids in each answer.
  const auto answered = answered_calls(messages, position + 1);
  pending.reserve(answer->tool_calls.size());
  for (auto i = std::uint32_t{0}; i < answer->tool_calls.size(); ++i)
    if (!std::ranges::binary_search(answered, std::string_view{answer->tool_calls[i].id}))
      pending.push_back(sent_call{answer, i});
  return pending;
}

std::vector<tool_call> pending_calls(const message_list& messages) {
  auto calls = std::vector<tool_call>{};
  for (const auto& pending : pending_sends(messages))
    calls.push_back(*pending);
  return calls;
}

void stream_answer(const body_input& given, const message& answer) {
  if (given.services == nullptr)
    return;
  given.services->note_progress(detail::progress_kind::event);
  if (const auto emit = given.services->message_emitter())
    emit(value{answer});
}

bool streams_messages(const body_input& given) {
  return given.services != nullptr && given.services->message_emitter();
}

void stream_new(const body_input& given, const message_list& before, const message& written) {
  if (is_new(before, written))
    stream_answer(given, written);
}

void stream_new(const runtime& rt, const message_list& before, const message& written) {
  if (rt.streams_messages() && is_new(before, written))
    rt.emit_message(value{written});
}

} // namespace superstep::react

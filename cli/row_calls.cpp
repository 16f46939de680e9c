// SPDX-License-Identifier: Apache-2.0
// Counts the calls of rows that their deadlines have ended.
#include "cli/row_calls.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace superstep::cli {

namespace {

std::uint32_t number_of(std::string_view call_id) noexcept {
  auto out = std::uint32_t{0};
  std::from_chars(call_id.data(), call_id.data() + call_id.size(), out);
  return out;
}

} // namespace

void row_calls::observe(const call_event& event) {
  const auto guard = std::lock_guard{mutex_};
  if (event.event == "tool_start") {
    tool_calls_.emplace(event.call_id);
    return;
  }
  if (event.event != "model_start" && event.event != "model_end")
    return;
  const auto number = number_of(event.call_id);
  const auto known = std::ranges::find(model_calls_, number, &model_call::number);
  auto& call = known != model_calls_.end() ? *known : model_calls_.emplace_back();
  call.number = number;
  if (event.event == "model_end" && event.status == "ok") {
    call.is_answered = true;
    if (event.usage != nullptr)
      call.usage = *event.usage;
  }
}

bool row_calls::add_to(row_outcome& out, std::uint32_t next_call, bool has_server) const {
  const auto guard = std::lock_guard{mutex_};
  auto has_cut = false;
  for (const auto& call : model_calls_) {
    if (call.number < next_call)
      continue;
    ++out.model_calls;
    if (call.usage)
      add_token_usage{}(out.usage, token_usage{*call.usage});
    out.is_usage_unknown = out.is_usage_unknown || (has_server && call.is_answered && !call.usage);
    has_cut = has_cut || !call.is_answered;
  }
  for (const auto& id : tool_calls_)
    out.tool_calls += std::ranges::none_of(out.messages, [&](const message& m) {
      return m.type == message_type::tool && m.tool_call_id == id;
    });
  return has_cut;
}

} // namespace superstep::cli

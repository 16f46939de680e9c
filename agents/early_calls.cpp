// SPDX-License-Identifier: Apache-2.0
// Starts tool calls while the model's answer is still arriving, and collects their results when the
// answer is complete.
#include "agents/early_calls.hpp"

#include <algorithm>
#include <utility>

namespace superstep {

void early_calls::start(tool_call call) {
  auto& one = started_.emplace_back();
  one.call = std::move(call);
  one.outcome = std::make_shared<detail::outcomes<message_ptr>>(1);
  one.join = new fork_join{1};
  at_.where->fork(at_, detail::run_one<message_ptr>(one.outcome, 0, how_.run(one.call)), one.join);
}

/// Notes which started calls the final answer contains. Then starts its other calls, which no piece
/// has shown to be complete, such as the last call of a stream that has no last piece. Calls
/// without an id get one only in the state, where their results would not be found.
void early_calls::compare(std::vector<tool_call> said) {
  if (started_.empty()) // the tool node runs all calls, and none has to wait
    return;
  for (auto& one : started_) {
    const auto place = std::ranges::find(said, one.call);
    one.is_said = place != said.end();
    if (one.is_said)
      said.erase(place); // if two calls are equal, each takes its own result
  }
  for (auto& call : said) {
    if (call.id.empty() || !how_.is_safe(call.name))
      continue;
    start(std::move(call));
    started_.back().is_said = true;
  }
}

void early_calls::add(const message_chunk& piece) {
  for (auto& call : listener_.add(piece))
    if (how_.is_safe(call.name))
      start(std::move(call));
}

task<void> early_calls::end(std::vector<tool_call> said) {
  compare(std::move(said));
  for (const auto& one : started_) {
    auto joined = detail::join_awaiter{one.join};
    co_await joined;
    // There is no answer if the call failed, was killed or returned a command. The tool node then
    // runs the call again, so that the outcome is handled as without early start.
    auto answer = std::move(one.outcome->take().front().value);
    if (answer && *answer && one.is_said)
      how_.keep(one.call, std::move(*answer));
    else if (how_.discard)
      how_.discard(one.call);
  }
}

} // namespace superstep

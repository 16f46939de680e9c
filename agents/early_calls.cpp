// SPDX-License-Identifier: Apache-2.0
#include "agents/early_calls.hpp"

#include <algorithm>
#include <utility>

namespace superstep {

void early_calls::hear(const message_chunk& piece) {
  for (auto& call : listener_.hear(piece)) {
    if (!how_.is_safe(call.name))
      continue;
    auto& one = started_.emplace_back();
    one.call = std::move(call);
    one.outcome = std::make_shared<detail::outcomes<message_ptr>>(1);
    one.join = new fork_join{1};
    at_.where->fork(at_, detail::run_one<message_ptr>(one.outcome, 0, how_.run(one.call)),
                    one.join);
  }
}

task<void> early_calls::end(std::vector<tool_call> said) {
  for (const auto& one : started_) {
    auto joined = detail::join_awaiter{one.join};
    co_await joined;
    // Without an answer the call failed or was killed. It is run once more when its turn has come,
    // so that it ends as it does when nothing is started early.
    auto answer = std::move(one.outcome->take().front().value);
    const auto place = std::ranges::find(said, one.call);
    if (answer && *answer && place != said.end())
      how_.keep(one.call, std::move(*answer));
    else if (how_.discard)
      how_.discard(one.call);
    if (place != said.end())
      said.erase(place); // two equal calls are two calls
  }
}

} // namespace superstep

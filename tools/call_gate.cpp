// SPDX-License-Identifier: Apache-2.0
// Limits how many calls of a tool run at the same time: in total, or for each value of an argument.
#include "call_gate.hpp"

#include <superstep/base/json.hpp>

#include <algorithm>
#include <utility>

namespace superstep::detail {

call_gate::call_gate(tool_limit limit) : limit_{std::move(limit)} {}

std::shared_ptr<const limiter> call_gate::for_call(const json::object& args) {
  auto key = std::string{};
  if (const auto* given = limit_.key.empty() ? nullptr : args.if_contains(limit_.key))
    key = to_text(*given);
  const auto lock = std::scoped_lock{mutex_};
  if (by_key_.size() >= sweep_at_)
    drop_unused();
  auto& found = by_key_[key];
  if (!found)
    found = std::make_shared<const limiter>(limit_.at_once);
  return found;
}

/// Removes limiters that no call uses. A call owns a reference to its limiter until it has a permit
/// or waits for one. New references are created only under the mutex, so a use count of 1 means
/// that no call is about to enter. The next removal is due when the number of entries has doubled,
/// so the cost per call is constant on average.
void call_gate::drop_unused() {
  std::erase_if(by_key_, [](const auto& entry) {
    const auto& limit = entry.second;
    return limit.use_count() == 1 && limit->in_flight() == 0 && limit->waiting() == 0;
  });
  sweep_at_ = std::max(std::size_t{64}, by_key_.size() * 2);
}

} // namespace superstep::detail

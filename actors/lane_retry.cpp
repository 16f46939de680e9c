// SPDX-License-Identifier: Apache-2.0
// A lane's second attempts: tasks that failed and are worth another one.
#include "lane.hpp"

#include <superstep/runtime/retry_policy.hpp>

#include <algorithm>

namespace superstep {

/// Whether the task gets another attempt. It then stands in `again` at once or after an alarm, and
/// the barrier waits for it as for a call in flight.
bool lane::will_retry(run& r, std::uint32_t number, const run_error& error) {
  auto& t = r.step.tasks[number];
  const auto& policies = r.table().node(t.node).options.retry;
  if (policies.empty())
    return false;
  const auto* const policy = find_policy(policies, error.cause, t.attempt);
  if (policy == nullptr)
    return false;
  auto wait = wait_after(*policy, t.attempt);
  if (policy->jitter)
    wait += std::chrono::milliseconds{luck_() % 1'000};
  ++t.attempt;
  if (wait.count() == 0) {
    r.again.push_back(number);
    queue(r);
    return true;
  }
  ++r.waiting;
  alarms_.push_back({now() + wait, nullptr, &r, r.generation, number});
  std::push_heap(alarms_.begin(), alarms_.end());
  return true;
}

void lane::retry_due(run& r, std::uint32_t number) {
  SUPERSTEP_ASSERT(r.waiting > 0);
  --r.waiting;
  r.again.push_back(number);
  queue(r);
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// Stores the results of early calls until the tool node takes them.
#include "agents/early_results.hpp"

#include <superstep/runtime/detail/runtime_access.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

void early_results::keep(runtime run, tool_call call, message_ptr answer) const {
  // The copy of the runtime only identifies the run. The functions in it refer to the model's task,
  // which ends before the entry is taken, so they are removed.
  detail::runtime_access::set_emitters(run, nullptr);
  detail::runtime_access::set_services(run, nullptr);
  const auto lock = std::scoped_lock{mutex_};
  if (kept_.size() >= kept_max)
    kept_.pop_front();
  kept_.push_back({std::move(run), std::move(call), std::move(answer)});
}

message_ptr early_results::take(const runtime& run, const tool_call& call) const {
  const auto lock = std::scoped_lock{mutex_};
  const auto found = std::ranges::find_if(
      kept_, [&](const entry& e) { return &e.run.config() == &run.config() && e.call == call; });
  if (found == kept_.end())
    return nullptr;
  auto answer = std::move(found->answer);
  kept_.erase(found);
  return answer;
}

void early_results::drop(const runtime& run) const {
  const auto lock = std::scoped_lock{mutex_};
  std::erase_if(kept_, [&](const entry& e) { return &e.run.config() == &run.config(); });
}

} // namespace superstep

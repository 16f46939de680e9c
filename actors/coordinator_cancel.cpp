// SPDX-License-Identifier: Apache-2.0
// Cancellation of runs. The outputs of a step whose tasks have all ended are kept: the step is
// applied and saved. The on_failure functions of unfinished tasks may return outputs for them; if
// they do for all, the step is kept as well. Nested runs come before their parents, because their
// results are outputs of their parents' tasks.
#include "coordinator.hpp"
#include "run_events.hpp"
#include "task_records.hpp"
#include "user_code.hpp"

#include <utility>
#include <vector>

namespace superstep {

void run_coordinator::cancel(std::uint64_t number) noexcept {
  auto* const r = find_run(number);
  if (r == nullptr || r->phase == run_phase::cancelling)
    return;
  try {
    r->more().cancelled = std::make_unique<run_error>(cancelled_error(*r));
  } catch (...) {
    end(*r, cancelled_error(*r));
    return;
  }
  if (r->phase == run_phase::opening) { // no task has started
    end(*r, std::move(*r->own_extras->cancelled));
    return;
  }
  stop_tree(*r);
  finish_cancel(*r);
}

/// Stops a cancelled run and its nested runs from starting tasks and steps.
void run_coordinator::stop_tree(run& r) noexcept {
  if (r.phase != run_phase::cancelling && r.phase != run_phase::opening)
    transition(r, run_phase::cancelling);
  each_below(r, [this](run& each) { stop_tree(each); });
}

/// Ends a cancelled run, unless a job thread applies its step or the step of a nested run.
void run_coordinator::finish_cancel(run& r) noexcept {
  if (!r.extras().cancelled || r.barriers_offloaded > 0)
    return;
  keep_outputs_below(r, *r.extras().cancelled);
  if (r.is_live())
    end(r, std::move(*r.own_extras->cancelled));
}

void run_coordinator::keep_outputs_below(run& r, const run_error& why) noexcept {
  each_below(r, [&](run& each) { keep_outputs_below(each, why); });
  try {
    keep_outputs(r, why);
  } catch (...) { // the run reports the cancellation; what has failed is lost with the step
    note_broken(r, "the last step of the cancelled run");
  }
}

/// Applies the last step of a cancelled run if all of its tasks have ended, or if the on_failure
/// functions return an output for each unfinished task. Each tool call in the message history then
/// has an answer.
void run_coordinator::keep_outputs(run& r, const run_error& why) {
  if (r.phase != run_phase::cancelling || r.extras().interrupts || r.extras().failure ||
      r.extras().to_parent || r.step.tasks.empty())
    return;
  auto given = std::vector<std::pair<std::uint32_t, node_output>>{};
  auto has_ended = std::vector<bool>(r.step.tasks.size());
  for (const auto number : r.step.finished)
    has_ended[number] = true;
  for (auto number = std::uint32_t{0}; number < r.step.tasks.size(); ++number) {
    if (has_ended[number])
      continue;
    const auto node_number = r.step.tasks[number].node;
    if (node_number == detail::program::no_node)
      return;
    const auto& node = r.table().node(node_number);
    if (!node.options.on_failure)
      return;
    auto error = why;
    error.node = node.name;
    error.task = r.task_path(r.step.tasks[number]);
    // A model may read the text, and the name of the run means nothing to it.
    error.text = "the run was cancelled";
    try {
      auto output = node.options.on_failure(reading(r, number), error);
      if (!output)
        return;
      given.emplace_back(number, std::move(*output));
    } catch (...) { // user code; the run reports its cancellation instead of this exception
      return;
    }
  }
  while (!r.open.empty())
    tasks_.abandon(*r.open.back());
  for (auto& [number, output] : given)
    tasks_.task_ended(r, number, std::move(output));
  if (r.extras().to_parent || r.extras().failure || !apply_step(r) || r.is_fast_path())
    return;
  static_cast<void>(steps_.finish_step(r));
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// Runs single tool calls as bodies of nodes. The task of the body is that of the tool.
#include "call_steps.hpp"
#include "call_task.hpp"

#include <superstep/runtime/detail/program.hpp>
#include <superstep/tools/detail/direct_call.hpp>

#include <optional>
#include <utility>

namespace superstep {

namespace {

/// The places of a call within its limits.
struct call_permits {
  limiter::permit of_tool; ///< empty if the tool has no limit
  limiter::permit of_node; ///< empty if the node has no limit
};

/// The objects of a direct call that most calls do not need.
struct direct_extras {
  call_permits permits;
  optional_box<tool_call> call; ///< with its injected arguments; unset if it has none
  std::optional<observed_call> observed;
};

/// The objects that the body of a direct call refers to.
struct direct_arguments : detail::kept_arguments {
  tool_context context;
  /// Returns the extras; null if the call has none.
  [[nodiscard]] virtual direct_extras* extras() noexcept { return nullptr; }
};

/// The objects of a direct call with extras.
struct full_direct_arguments final : direct_arguments {
  direct_extras* extras() noexcept override { return &own; }
  direct_extras own;
};

/// Sets the members that describe the calling task, as the overload for a runtime does, except for
/// the stop token.
void set_task(tool_context& context, const body_input& given) {
  context.run_key = (*given.config)->run_id;
  context.node = given.table->node(given.node).name;
  context.attempt = given.attempt;
  context.step = static_cast<std::uint32_t>(given.step);
  context.task_index = given.task_index;
  context.deadline = given.services->deadline();
  set_place(context, given.services->place(), *given.config);
}

/// Enters the limits of a call, in the order of tool_node::run(): that of its tool first. Returns
/// false if the call must wait in line for one of them; it then holds none.
bool enter_limits(const tool_node::table& t, const tool_node::table::entry& entry,
                  const tool_call& call, call_permits& into) {
  auto entered = call_permits{};
  const auto enter = [](const limiter& limit, limiter::permit& as) {
    auto got = limit.try_acquire();
    if (!got)
      return false;
    as = *std::move(got);
    return true;
  };
  if (entry.gate && !enter(*entry.gate->for_call(call.args), entered.of_tool))
    return false;
  if (t.options.calls_at_once && !enter(t.whole, entered.of_node))
    return false;
  into = std::move(entered);
  return true;
}

} // namespace

detail::body_task detail::direct_call::begin(const tool_node& node, const tool_call& call,
                                             const body_input& given, state_function state,
                                             std::shared_ptr<const call_observer> observer) {
  const auto& t = *node.table_;
  const auto* entry = t.find(call.name);
  if (entry == nullptr || !t.runs_directly || given.services == nullptr)
    return {};
  auto& at = given.services->context();
  const auto is_plain =
      !entry->gate && !t.options.calls_at_once && entry->injections.empty() && !observer;
  // std::make_unique() would set the memory to zero first.
  auto kept = std::unique_ptr<direct_arguments>{is_plain ? new direct_arguments
                                                         : new full_direct_arguments};
  auto* const extras = kept->extras();
  if (extras != nullptr && !enter_limits(t, *entry, call, extras->permits))
    return {};
  auto& context = kept->context;
  set_task(context, given);
  context.tool_call_id = call.id;
  constexpr auto form = tool_input_form::calls;
  if (entry->injections.empty() && !entry->run->uses_environment()) {
    context.environment = empty_environment(form);
  } else {
    context.stop = given.services->stop_token();
    context.environment = std::make_shared<const tool_environment>(
        tool_environment{form, state(given), given.store, given.make_runtime(), t.definitions});
  }
  if (observer)
    extras->observed.emplace(std::move(observer), call, given.attempt, at);
  auto own = std::unique_ptr<tool_call>{};
  const auto* given_call = &call;
  if (!entry->injections.empty()) {
    auto& filled = extras->call.emplace(call);
    own = inject(t, *entry, filled, context);
    given_call = &filled;
  }
  auto body = begin_body(*entry, *given_call, own.get(), context, &at);
  return {std::move(body), std::move(kept)};
}

tool_answer detail::direct_call::end(const tool_node& node, const tool_call& call,
                                     body_task& ended) {
  auto& kept = static_cast<direct_arguments&>(*ended.kept());
  auto* observed = static_cast<observed_call*>(nullptr);
  if (auto* const extras = kept.extras()) {
    extras->permits = {}; // the next call need not wait until this one is answered
    observed = extras->observed ? &*extras->observed : nullptr;
  }
  const auto take = [&] { return ended.take<tool_output>(); };
  if (observed == nullptr)
    return answer_to(*node.table_, call, tool_input_form::calls, take);
  auto answer = tool_answer{};
  try {
    answer = answer_to(*node.table_, call, tool_input_form::calls, take);
  } catch (...) {
    observed->end(true);
    throw;
  }
  observed->end(answer.answer != nullptr && answer.answer->is_error);
  return answer;
}

} // namespace superstep

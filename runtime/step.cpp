// SPDX-License-Identifier: Apache-2.0
// The super-step as pure functions: records the outputs of tasks, applies them at the barrier,
// triggers nodes and prepares the next tasks. step_writes.cpp applies the writes to channels;
// step_thread.cpp converts a run's position from and to checkpoints. docs/super-step.md describes
// the rules.
#include "runtime/step.hpp"

#include "runtime/channel_set.hpp"

#include <superstep/runtime/graph_error.hpp>

#include <algorithm>
#include <concepts>
#include <limits>
#include <utility>

namespace superstep {

namespace {

template <class From, class To>
range move_into(From& from, To& to) {
  // the usual case: most tasks produce only writes, or only targets, or only Sends
  if (from.empty())
    return {};
  const auto r =
      range{static_cast<std::uint32_t>(to.size()), static_cast<std::uint32_t>(from.size())};
  if constexpr (std::same_as<From, To>) { // an answer may contain 100,000 tool calls
    if (to.empty()) {
      to.swap(from);
      return r;
    }
  }
  for (auto& item : from)
    to.push_back(std::move(item));
  from.clear();
  return r;
}

/// Returns the sort key of a task in LangGraph's order of task paths: pulls by node name, then
/// pushes by index. Node numbers are in the order of names.
[[maybe_unused]] std::uint64_t path_key(const step_task& t) noexcept {
  return t.is_push() ? (std::uint64_t{1} << 32) | t.push_index : std::uint64_t{t.origin()};
}

/// Moves START to its place by name. Its number is the highest one, but it runs together with
/// nodes only if a command and an input meet in a step.
void place_start(const detail::program& table, const super_step& step,
                 std::span<std::uint32_t> finished) {
  const auto of = [&](std::uint32_t number) -> const step_task& { return step.tasks[number]; };
  const auto at = std::find_if(finished.begin(), finished.end(), [&](auto number) {
    return !of(number).is_push() && of(number).node == detail::program::no_node;
  });
  if (at == finished.end())
    return;
  const auto to = std::find_if(finished.begin(), at, [&](auto number) {
    return table.node(of(number).origin()).name > detail::start_node;
  });
  std::rotate(to, at, std::next(at));
}

/// A run keeps memory for this number of changed channels while it waits: most steps change no
/// more.
constexpr auto few_changes = std::size_t{4};

/// Frees the memory of a list that is empty.
template <class List>
void trim_empty(List& list) noexcept {
  if (list.empty() && list.capacity() > 0)
    List{}.swap(list);
}

} // namespace

void super_step::clear() {
  tasks.clear();
  if (inputs->use_count() > 1)
    inputs = new step_inputs;
  inputs->sends.clear();
  finished.clear();
  writes.clear();
  targets.clear();
  sends.clear();
  adopted.reset();
  adopted_changes.clear();
  input.reset();
}

void super_step::trim() noexcept {
  trim_empty(finished);
  trim_empty(writes);
  trim_empty(targets);
  trim_empty(sends);
  trim_empty(adopted_changes);
}

void super_step::drop_values() {
  writes.clear();
  sends.clear();
  if (inputs->use_count() == 1)
    inputs->sends.clear();
}

void super_step::record(std::uint32_t number, node_output&& output) {
  SUPERSTEP_ASSERT(number < tasks.size());
  SUPERSTEP_ASSERT(writes.size() + output.writes.size() <
                   std::numeric_limits<std::uint32_t>::max());
  auto& t = tasks[number];
  t.writes = move_into(output.writes, writes);
  t.targets = move_into(output.targets, targets);
  t.sends = move_into(output.sends, sends);
  if (output.adopted) {
    SUPERSTEP_ASSERT(tasks.size() == 1);
    adopted = std::move(output.adopted);
    std::swap(adopted_changes, output.adopted_changes);
  }
  // The caller reuses `output` for another task, which must not find data of this task.
  output.adopted_changes.clear();
  output.for_routers.reset();
  output.has_ended = false;
  finished.push_back(number);
}

void super_step::record(std::uint32_t number, const task_output& output) {
  auto again = node_output{};
  again.writes.assign(output.writes.begin(), output.writes.end());
  again.targets.assign(output.targets.begin(), output.targets.end());
  again.sends.assign(output.sends.begin(), output.sends.end());
  record(number, std::move(again));
}

task_output super_step::output_of(const step_task& t) const {
  const auto part = [](const auto& all, range r) {
    SUPERSTEP_ASSERT(r.begin + std::size_t{r.count} <= all.size());
    const auto from = all.begin() + r.begin;
    return std::vector(from, from + r.count);
  };
  return {part(writes, t.writes), part(targets, t.targets), part(sends, t.sends)};
}

const std::string& id_key_of(const run_config& config) noexcept {
  return config.run_id.empty() ? config.thread_id : config.run_id;
}

void run_state::reset(detail::program_ptr table, const id_source& ids,
                      std::uint32_t recursion_limit) {
  table_ = std::move(table);
  state_ = table_->make_state();
  causes_ = decltype(causes_)(table_->nodes().size(), 0);
  triggered_.clear();
  deferred_.clear();
  joins_.clear();
  for (const auto& j : table_->joins())
    joins_.emplace_back(static_cast<std::uint32_t>(j.sources.size()));
  sends_.clear();
  sends_follow_start_ = false;
  changes_.clear();
  step_ = -1;
  stop_ = recursion_limit;
  keep_changes_ = false;
  ids_ = ids;
  input_.reset();
  versions_.reset();
}

void run_state::clear() noexcept {
  table_.reset();
  state_.reset();
  sends_.clear();
  input_.reset();
  versions_.reset();
}

void run_state::trim() noexcept {
  ordered_.clear();
  if (!keep_changes_ && changes_.capacity() > few_changes)
    changes_.clear();
  trim_empty(ordered_);
  trim_empty(triggered_);
  trim_empty(deferred_);
  trim_empty(sends_);
  trim_empty(changes_);
}

run_state run_state::stand_in() const {
  auto out = run_state{};
  out.table_ = table_;
  out.state_ = state_;
  out.step_ = step_;
  out.stop_ = stop_;
  return out;
}

void run_state::trigger(std::uint32_t node, trigger_cause cause) {
  SUPERSTEP_ASSERT(node < causes_.size());
  auto& causes = causes_[node];
  if (causes == 0)
    (table_->node(node).is_deferred ? deferred_ : triggered_).push_back(node);
  causes |= static_cast<std::uint8_t>(cause);
  if (versions_ && cause == trigger_cause::branch)
    versions_->branch[node] = versions_->last;
}

void run_state::follow(const detail::node_entry& node) {
  for (const auto to : node.edges)
    trigger(to, trigger_cause::branch);
  for (const auto [join, member] : node.joins) {
    if (joins_[join].arrive(member) == changed::no)
      continue;
    if (versions_)
      versions_->join[join] = versions_->last;
    if (joins_[join].is_available())
      trigger(table_->joins()[join].target, trigger_cause::join);
  }
}

/// Empties the joins that have triggered a node.
void run_state::consume_joins(std::uint32_t node) {
  for (const auto join : table_->node(node).joins_in)
    joins_[join].consume();
}

result<void> begin(run_state& run, super_step& step, std::span<write> input) {
  step.clear();
  run.step_ = 0;
  run.keep_changes_ = true;
  run.ids_.begin_step(0);
  run.changes_.clear();
  run.ordered_.clear();
  for (auto& w : input)
    run.ordered_.push_back(&w);
  step.tasks.push_back({detail::program::no_node, step_task::pull, {}, {}, {}, 1, 0, false});
  return run.apply_ordered();
}

/// Pushes come before pulls. Pulls are sorted by node number, which is the order of names.
next_step prepare(run_state& run, super_step& step) {
  step.clear();
  ++run.step_;
  SUPERSTEP_ASSERT(run.sends_.size() < step_task::pull); // each gets a push index
  if (!std::exchange(run.sends_follow_start_, false))
    step.inputs->sends.swap(run.sends_);
  const auto& sent = step.inputs->sends;
  if (run.triggered_.size() > 1)
    std::sort(run.triggered_.begin(), run.triggered_.end());
  step.tasks.reserve(sent.size() + run.triggered_.size());
  if (run.input_) {
    step.input = std::exchange(run.input_, {});
    step.tasks.push_back({detail::program::no_node, step_task::pull, {}, {}, {}, 1, 0, false});
  }
  for (auto i = std::uint32_t{0}; i < sent.size(); ++i)
    step.tasks.push_back({sent[i].node, i, {}, {}, {}, 1, 0, false});
  for (const auto node : run.triggered_) {
    step.tasks.push_back({node,
                          step_task::pull,
                          {},
                          {},
                          {},
                          1,
                          std::exchange(run.causes_[node], std::uint8_t{0}),
                          false});
    if (!run.joins_.empty())
      run.consume_joins(node);
  }
  run.triggered_.clear();
  // The limit is checked before the number of tasks. Thus a run that has used all its steps fails
  // here even if it has nothing left to do. LangGraph does the same, and resumed runs depend on it.
  if (run.step_ > run.stop_)
    return next_step::out_of_steps;
  return step.tasks.empty() ? next_step::done : next_step::run;
}

result<void> run_state::apply_writes(super_step& step) {
  if (step.adopted) {
    SUPERSTEP_ASSERT(step.finished.size() == 1); // its routers saw the writes of the whole step
    state_ = std::move(step.adopted);
    changes_.assign(step.adopted_changes.begin(), step.adopted_changes.end());
    return {};
  }
  if (step.writes.empty())
    return {};
  ordered_.clear();
  for (const auto number : step.finished) {
    const auto r = step.tasks[number].writes;
    for (auto i = r.begin; i != r.begin + r.count; ++i)
      ordered_.push_back(&step.writes[i]);
  }
  return apply_ordered();
}

/// Prepares for end_transients(), which may fail when it copies or clears a value. Returns the
/// state to restore then; null if emptying cannot fail any more. While the caller holds the
/// returned state, writes go to a copy.
state_ptr run_state::hold_for_emptying() {
  if (table_->may_fail_to_empty())
    return state_;
  if (!state_->shares_values())
    return {};
  if (state_->use_count() > 1) // a step changes a copy in any case
    return state_;
  for (const auto c : table_->transient_channels())
    if (table_->channels()[c]->is_available(*state_))
      table_->channels()[c]->own_value(*state_);
  return {};
}

/// Empties the transient channels that the step did not write; their values live for one step. If
/// emptying throws, restores `backup`.
/// @param backup the result of hold_for_emptying(), called before the step's writes were applied
void run_state::end_transients(state_ptr backup) try {
  const auto written = detail::channel_set{changes_, table_->transient_channels().size()};
  for (const auto c : table_->transient_channels()) {
    if (written.contains(c))
      continue;
    const auto& transient = *table_->channels()[c];
    if (!transient.is_available(*state_))
      continue;
    if (state_->use_count() > 1)
      state_ = state_->clone();
    if (transient.update_empty(*state_) == changed::yes)
      changes_.push_back(c);
  }
} catch (...) { // copying and clearing values is user code
  if (backup)
    state_ = std::move(backup);
  throw;
}

result<void> run_state::apply_tasks(super_step& step, bool may_repeat_ids) {
#if !defined(SUPERSTEP_MUTATION_UNSORTED) // a test defines it to prove that it finds a missing sort
  const auto in_path_order = [&](std::uint32_t a, std::uint32_t b) {
    return path_key(step.tasks[a]) < path_key(step.tasks[b]);
  };
  if (step.finished.size() > 1 &&
      !std::is_sorted(step.finished.begin(), step.finished.end(), in_path_order))
    std::sort(step.finished.begin(), step.finished.end(), in_path_order);
#endif
  if (step.input && step.finished.size() > 1)
    place_start(*table_, step, step.finished);
  SUPERSTEP_ASSERT(std::adjacent_find(step.finished.begin(), step.finished.end()) ==
                   step.finished.end()); // no task ended twice
  if (!std::exchange(keep_changes_, false))
    changes_.clear();
  ids_.begin_step(step_, may_repeat_ids);
  if (table_->transient_channels().empty()) { // the usual case
    if (auto applied = apply_writes(step); !applied)
      return applied;
  } else {
    auto before = hold_for_emptying();
    if (auto applied = apply_writes(step); !applied)
      return applied;
    end_transients(std::move(before));
  }
  auto* last = static_cast<const detail::node_entry*>(nullptr);
  for (const auto number : step.finished) {
    const auto& t = step.tasks[number];
    if (const auto* node = &table_->node(t.node); node != last) {
      follow(*node); // edges fire once, even if several Sends activated the node
      last = node;
    }
    for (auto i = t.targets.begin; i != t.targets.begin + t.targets.count; ++i)
      trigger(step.targets[i], trigger_cause::branch);
    if (sends_.empty() && t.sends.count == step.sends.size()) { // the usual case
      sends_.swap(step.sends);
      continue;
    }
    for (auto i = t.sends.begin; i != t.sends.begin + t.sends.count; ++i)
      sends_.push_back(std::move(step.sends[i]));
  }
  // No other node is triggered, so the deferred nodes are triggered now, even with pending Sends.
  if (triggered_.empty() && !deferred_.empty()) {
    std::swap(triggered_, deferred_);
    for (const auto node : triggered_) {
      causes_[node] |= static_cast<std::uint8_t>(trigger_cause::held_back);
      if (versions_)
        versions_->branch[node] = versions_->last;
    }
  }
  return {};
}

result<void> apply(run_state& run, super_step& step) {
  SUPERSTEP_ASSERT(step.finished.size() <= step.tasks.size());
  if (run.versions_) {
    ++run.versions_->last;
    for (const auto number : step.finished) {
      if (const auto& t = step.tasks[number]; !t.is_push())
        run.note_seen(t.origin(), t.causes);
    }
  }
  return run.apply_tasks(step);
}

} // namespace superstep

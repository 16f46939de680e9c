// SPDX-License-Identifier: Apache-2.0
#include <superstep/runtime/step.hpp>

#include <algorithm>
#include <limits>

namespace superstep {

namespace {

template <class From, class To>
range move_into(From& from, To& to) {
  const auto r =
      range{static_cast<std::uint32_t>(to.size()), static_cast<std::uint32_t>(from.size())};
  for (auto& item : from)
    to.push_back(std::move(item));
  from.clear();
  return r;
}

/// The reference's order of task paths: pulls by node name, then pushes by index.
[[maybe_unused]] std::uint64_t path_key(const step_task& t) noexcept {
  return t.is_push() ? (std::uint64_t{1} << 32) | t.push_index : std::uint64_t{t.node};
}

} // namespace

void super_step::clear() {
  tasks.clear();
  if (inputs.use_count() > 1)
    inputs = std::make_shared<std::vector<send>>();
  inputs->clear();
  finished.clear();
  writes.clear();
  targets.clear();
  sends.clear();
  adopted.reset();
  adopted_changes.clear();
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
    adopted_changes = std::move(output.adopted_changes);
  }
  finished.push_back(number);
}

void run_state::reset(program_ptr table, std::string run_id, std::uint32_t recursion_limit) {
  table_ = std::move(table);
  state_ = table_->make_state();
  is_triggered_.assign(table_->nodes().size(), 0);
  triggered_.clear();
  deferred_.clear();
  joins_.clear();
  for (const auto& j : table_->joins())
    joins_.emplace_back(static_cast<std::uint32_t>(j.sources.size()));
  sends_.clear();
  changes_.clear();
  step_ = -1;
  stop_ = recursion_limit;
  ids_ = id_source{std::move(run_id)};
}

void run_state::clear() noexcept {
  table_.reset();
  state_.reset();
  sends_.clear();
}

void run_state::trigger(std::uint32_t node) {
  if (is_triggered_[node] == 0) {
    is_triggered_[node] = 1;
    (table_->node(node).is_deferred ? deferred_ : triggered_).push_back(node);
  }
}

void run_state::follow(const node_entry& node) {
  for (const auto to : node.edges)
    trigger(to);
  for (const auto [join, member] : node.joins) {
    if (joins_[join].arrive(member) == changed::yes && joins_[join].is_available())
      trigger(table_->joins()[join].target);
  }
}

result<void> begin(run_state& run, super_step& step, std::span<write> input) {
  step.clear();
  run.step_ = 0;
  run.ids_.begin_step(0);
  run.changes_.clear();
  run.ordered_.clear();
  for (auto& w : input)
    run.ordered_.push_back(&w);
  step.tasks.push_back({program::no_node, step_task::pull, {}, {}, {}, 1});
  return apply_in_order(*run.table_, *run.state_, run.ordered_, run.ids_, run.changes_);
}

next_step prepare(run_state& run, super_step& step) {
  step.clear();
  ++run.step_;
  // The limit is asked first: a run that needs one step more than it may take fails even when that
  // step would have found nothing to do (the reference does so, and resumed runs count on it).
  if (run.step_ > run.stop_)
    return next_step::out_of_steps;
  std::swap(*step.inputs, run.sends_);
  std::sort(run.triggered_.begin(), run.triggered_.end());
  step.tasks.reserve(step.inputs->size() + run.triggered_.size());
  for (auto i = std::uint32_t{0}; i < step.inputs->size(); ++i)
    step.tasks.push_back({(*step.inputs)[i].node, i, {}, {}, {}, 1});
  for (const auto node : run.triggered_) {
    step.tasks.push_back({node, step_task::pull, {}, {}, {}, 1});
    run.is_triggered_[node] = 0;
    for (auto& join : run.joins_) { // a join that has fired is consumed by its node
      if (join.is_available() &&
          run.table_->joins()[static_cast<std::size_t>(&join - run.joins_.data())].target == node)
        join.reset();
    }
  }
  run.triggered_.clear();
  return step.tasks.empty() ? next_step::done : next_step::run;
}

result<void> run_state::apply_writes(super_step& step) {
  if (step.adopted) {
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
  // Copy on write: a snapshot or a body that was given up may still read the old state.
  if (state_->use_count() > 1)
    state_ = state_->clone();
  return apply_in_order(*table_, *state_, ordered_, ids_, changes_);
}

void run_state::end_transients() {
  for (const auto c : table_->transient_channels()) {
    if (std::find(changes_.begin(), changes_.end(), c) != changes_.end())
      continue;
    const auto& transient = *table_->channels()[c];
    if (!transient.is_available(*state_))
      continue;
    if (state_->use_count() > 1)
      state_ = state_->clone();
    if (transient.update_empty(*state_) == changed::yes)
      changes_.push_back(c);
  }
}

result<void> apply(run_state& run, super_step& step) {
  SUPERSTEP_ASSERT(step.finished.size() == step.tasks.size());
#if !defined(                                                                                      \
    SUPERSTEP_MUTATION_UNSORTED) // tests/runtime builds this file without the sort, to fail
  const auto in_path_order = [&](std::uint32_t a, std::uint32_t b) {
    return path_key(step.tasks[a]) < path_key(step.tasks[b]);
  };
  if (!std::is_sorted(step.finished.begin(), step.finished.end(), in_path_order))
    std::sort(step.finished.begin(), step.finished.end(), in_path_order);
#endif
  if (run.step_ > 0) // the changes of step 0 are those of the input
    run.changes_.clear();
  run.ids_.begin_step(run.step_);
  if (auto applied = run.apply_writes(step); !applied)
    return applied;
  run.end_transients();
  auto* last = static_cast<const node_entry*>(nullptr);
  for (const auto number : step.finished) {
    const auto& t = step.tasks[number];
    if (const auto* node = &run.table_->node(t.node); node != last) {
      run.follow(*node); // edges fire once however many Sends a node served
      last = node;
    }
    for (auto i = t.targets.begin; i != t.targets.begin + t.targets.count; ++i)
      run.trigger(step.targets[i]);
    for (auto i = t.sends.begin; i != t.sends.begin + t.sends.count; ++i)
      run.sends_.push_back(std::move(step.sends[i]));
  }
  // The run would end here but for Sends: now the deferred ones get their turn, all at once.
  if (run.triggered_.empty())
    std::swap(run.triggered_, run.deferred_);
  return {};
}

result<void> apply_in_order(const program& table, state_block& state,
                            std::span<write* const> writes, id_source& ids,
                            std::vector<std::uint32_t>& changes) {
  const auto update = [&](std::uint32_t c, std::span<write* const> own) -> result<void> {
    auto updated = table.channels()[c]->update(state, own, ids);
    if (!updated)
      return updated.error();
    if (*updated == changed::yes)
      changes.push_back(c);
    return {};
  };
  if (writes.empty())
    return {};
  const auto first = writes.front()->channel;
  if (std::all_of(writes.begin(), writes.end(),
                  [&](const write* w) { return w->channel == first; }))
    return update(first, writes);
  // Counting sort by channel, stable, so that each channel sees its writes in task order.
  auto ends = std::vector<std::uint32_t>(table.channels().size() + 1, 0);
  for (const auto* w : writes)
    ++ends[w->channel + 1];
  for (auto c = std::size_t{1}; c < ends.size(); ++c)
    ends[c] += ends[c - 1];
  auto grouped = std::vector<write*>(writes.size());
  auto next = ends;
  for (auto* w : writes)
    grouped[next[w->channel]++] = w;
  for (auto c = std::uint32_t{0}; c < table.channels().size(); ++c) {
    const auto own = std::span{grouped}.subspan(ends[c], ends[c + 1] - ends[c]);
    if (own.empty())
      continue;
    if (auto done = update(c, own); !done)
      return done;
  }
  return {};
}

} // namespace superstep

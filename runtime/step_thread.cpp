// SPDX-License-Identifier: Apache-2.0
// The part of the super-step for runs with a thread: converts the position of a run from and to a
// checkpoint, and applies inputs and commands between two steps. Also keeps the version numbers by
// which last_node() finds the node that ran last.
#include "runtime/step.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace superstep {

namespace {

// the step number of a thread that has no checkpoint yet
constexpr auto before_first = std::int64_t{-2};

std::vector<trigger> triggers_of(std::span<const std::uint32_t> nodes,
                                 std::span<const std::uint8_t> causes) {
  auto out = std::vector<trigger>{};
  for (const auto n : nodes)
    out.push_back({n, causes[n]});
  return out;
}

} // namespace

void run_state::restore(const checkpoint* from) {
  SUPERSTEP_ASSERT(table_ != nullptr);
  versions_ = std::make_unique<seen_versions>();
  if (from == nullptr) {
    step_ = before_first;
    versions_->branch.assign(table_->nodes().size(), 0);
    versions_->branch_seen = versions_->branch;
    versions_->join.assign(table_->joins().size(), 0);
    versions_->join_seen = versions_->join;
    return;
  }
  // The recursion limit counts the steps of this run only, so it is raised by the number of steps
  // that the thread already has. A new thread starts at before_first.
  stop_ += from->step - before_first;
  step_ = from->step;
  state_ = from->state->clone();
  for (const auto& c : table_->channels())
    c->drop_unkept(*state_);
  const auto& where = from->where;
  *versions_ = where.versions;
  joins_.assign(where.joins.begin(), where.joins.end());
  SUPERSTEP_ASSERT(joins_.size() == table_->joins().size());
  SUPERSTEP_ASSERT(versions_->branch.size() == table_->nodes().size());
  sends_.assign(where.sends.begin(), where.sends.end());
  input_.reset();
  if (where.input)
    input_ = start_input{*where.input, where.input_targets};
  sends_follow_start_ = where.input && !where.sends.empty();
  const auto take = [&](const std::vector<superstep::trigger>& saved,
                        detail::thin_list<std::uint32_t>& nodes) {
    for (const auto [node, causes] : saved) {
      nodes.push_back(node);
      causes_[node] = causes;
    }
  };
  take(where.triggered, triggered_);
  take(where.deferred, deferred_);
}

position run_state::where() const {
  SUPERSTEP_ASSERT(versions_ != nullptr);
  const auto input = input_.value_or({});
  return {input_ ? std::optional{input.writes} : std::nullopt,
          input.targets,
          triggers_of(triggered_, causes_),
          triggers_of(deferred_, causes_),
          {joins_.begin(), joins_.end()},
          {sends_.begin(), sends_.end()},
          *versions_};
}

/// Records that a node has run: it has seen the current versions of its triggers, and the triggers
/// that fired get a new version.
void run_state::note_seen(std::uint32_t node, std::uint8_t causes) {
  auto& v = *versions_;
  if (node == detail::program::no_node) {
    v.entry_seen = v.entry;
    v.entry = v.last;
    return;
  }
  v.branch_seen[node] = v.branch[node];
  const auto by = [&](trigger_cause c) { return (causes & static_cast<std::uint8_t>(c)) != 0; };
  if (by(trigger_cause::branch) || by(trigger_cause::held_back))
    v.branch[node] = v.last;
  for (const auto join : table_->node(node).joins_in) {
    v.join_seen[join] = v.join[join];
    if (by(trigger_cause::join))
      v.join[join] = v.last;
  }
}

void run_state::accept_input(write_list input, std::vector<std::uint32_t> targets,
                             std::span<const send> sends) {
  SUPERSTEP_ASSERT(versions_ != nullptr);
  const auto had_tasks = input_ || !triggered_.empty() || !sends_.empty();
  ++versions_->last;
  if (input_)
    note_seen(detail::program::no_node, 0);
  for (const auto node : triggered_) {
    note_seen(node, std::exchange(causes_[node], std::uint8_t{0}));
    consume_joins(node);
  }
  triggered_.clear();
  sends_.clear();
  changes_.clear();
  if (had_tasks)
    end_transients(hold_for_emptying());
  versions_->entry = versions_->last;
  input_ = start_input{std::move(input), std::move(targets)};
  sends_.assign(sends.begin(), sends.end());
  sends_follow_start_ = !sends_.empty();
  ++step_;
}

void run_state::drop_pending() noexcept {
  // Complete joins and deferred nodes that are due stay triggered, because only a run of their node
  // clears these triggers.
  triggered_.erase_if([this](std::uint32_t node) {
    causes_[node] &= static_cast<std::uint8_t>(~static_cast<unsigned>(trigger_cause::branch));
    return causes_[node] == 0;
  });
  sends_.clear();
  input_.reset();
}

/// Adds the causes that had triggered a node before an edit. A deferred node that was due waits
/// again if the edit has triggered it.
void run_state::keep_trigger(std::uint32_t node, std::uint8_t causes) {
  const auto is_node = [node](std::uint32_t n) { return n == node; };
  const auto waits = std::ranges::any_of(deferred_, is_node);
  if (waits && causes == static_cast<std::uint8_t>(trigger_cause::held_back))
    return;
  if (waits)
    deferred_.erase_if(is_node);
  if (waits || causes_[node] == 0)
    triggered_.push_back(node);
  causes_[node] |= causes;
}

result<void> run_state::apply_command(const task_output& command) {
  SUPERSTEP_ASSERT(versions_ != nullptr);
  ++versions_->last;
  changes_.clear();
  ids_.begin_step(step_, true);
  auto writes = command.writes;
  ordered_.clear();
  for (auto& w : writes)
    ordered_.push_back(&w);
  if (auto applied = apply_ordered(); !applied)
    return applied;
  for (const auto node : command.targets)
    trigger(node, trigger_cause::branch);
  // new Sends replace the pending ones: LangGraph's channel of Sends keeps those of one barrier
  // only
  if (!command.sends.empty())
    sends_.assign(command.sends.begin(), command.sends.end());
  return {};
}

std::optional<std::uint32_t> run_state::last_node() const {
  SUPERSTEP_ASSERT(versions_ != nullptr);
  const auto& v = *versions_;
  auto latest = v.entry_seen;
  auto node = detail::program::no_node;
  auto is_tie = false;
  const auto consider = [&](std::uint64_t seen, std::uint32_t n) {
    if (seen == 0 || seen < latest)
      return;
    is_tie = seen == latest;
    latest = seen;
    node = n;
  };
  for (auto n = std::uint32_t{0}; n < v.branch_seen.size(); ++n)
    consider(v.branch_seen[n], n);
  for (auto j = std::size_t{0}; j < v.join_seen.size(); ++j)
    consider(v.join_seen[j], table_->joins()[j].target);
  if (is_tie)
    return std::nullopt;
  return node;
}

result<void> apply_edit(run_state& run, super_step& step) {
  SUPERSTEP_ASSERT(run.versions_ && !step.tasks.empty() &&
                   step.finished.size() == step.tasks.size());
  ++run.versions_->last;
  // As in LangGraph, deferred nodes wait for the nodes that the edit triggers, and not for those
  // that were triggered before.
  const auto before = std::exchange(run.triggered_, {});
  auto causes = std::vector<std::uint8_t>{};
  for (const auto node : before)
    causes.push_back(std::exchange(run.causes_[node], std::uint8_t{0}));
  if (auto applied = run.apply_tasks(step, true); !applied)
    return applied;
  for (auto i = std::size_t{0}; i < causes.size(); ++i)
    run.keep_trigger(before[i], causes[i]);
  return {};
}

result<void> apply_unfinished(run_state& run, super_step& step) {
  SUPERSTEP_ASSERT(run.versions_ != nullptr);
  if (step.tasks.empty())
    return {};
  ++run.versions_->last;
  for (const auto& t : step.tasks)
    if (!t.is_push())
      run.note_seen(t.origin(), t.causes);
  return run.apply_tasks(step, true);
}

} // namespace superstep

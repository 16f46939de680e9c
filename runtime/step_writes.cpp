// SPDX-License-Identifier: Apache-2.0
// Applies the writes of one step: groups them by channel, updates each channel once, and restores
// the old state if an update fails. Updates that may fail come first, so that few updates have to
// be undone. step.cpp calls it at the barrier, node_body.cpp for the state that routers see.
#include "runtime/step.hpp"

#include <superstep/runtime/graph_error.hpp>

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace superstep {

namespace {

using group = std::span<write* const>;

/// Whether the writes are those of the tasks, or arrive after them in the same step.
enum class arrival : bool { of_tasks, later };

/// Up to this number of writes, insertion sort is faster than counting sort, which allocates
/// memory.
constexpr auto few_writes = std::size_t{24};

bool comes_before(const write* a, const write* b) noexcept {
  return a->channel < b->channel;
}

/// Sorts writes by channel. The sort is stable, so that each channel receives its writes in task
/// order.
void sort_by_channel(std::span<write*> writes, std::size_t channels) {
  if (writes.size() <= few_writes) {
    for (auto i = std::size_t{1}; i < writes.size(); ++i) {
      auto* const moving = writes[i];
      auto at = i;
      for (; at > 0 && comes_before(moving, writes[at - 1]); --at)
        writes[at] = writes[at - 1];
      writes[at] = moving;
    }
    return;
  }
  auto next = std::vector<std::uint32_t>(channels + 1, 0);
  for (const auto* w : writes)
    ++next[w->channel + 1];
  for (auto c = std::size_t{1}; c < next.size(); ++c)
    next[c] += next[c - 1];
  auto grouped = std::vector<write*>(writes.size());
  for (auto* w : writes)
    grouped[next[w->channel]++] = w;
  std::ranges::copy(grouped, writes.begin());
}

/// Removes from `rest` the writes to the first write's channel and returns them.
/// @pre `rest` is sorted and not empty
group take_group(group& rest) noexcept {
  SUPERSTEP_ASSERT(!rest.empty());
  auto n = std::size_t{1};
  while (n < rest.size() && rest[n]->channel == rest.front()->channel)
    ++n;
  const auto own = rest.first(n);
  rest = rest.subspan(n);
  return own;
}

bool is_of_one_channel(group writes) noexcept {
  const auto one = writes.front()->channel;
  for (auto i = std::size_t{1}; i < writes.size(); ++i)
    if (writes[i]->channel != one)
      return false;
  return true;
}

/// Returns an error for the exception being handled. Reducers and operations of values are user
/// code, so they may throw anything.
[[gnu::cold, gnu::noinline]] error failed_update(const channel& c) {
  const auto cause = std::current_exception();
  return {failure_code(cause, channel_errc::reducer_failed),
          "the update of channel '" + c.name() + "' failed: " + describe(cause)};
}

/// Updates one channel.
/// @pre all writes are for this channel
template <arrival When>
result<void> update_channel(const detail::program& table, state_block& state, group own,
                            id_source& ids, detail::thin_list<std::uint32_t>& changes) {
  const auto number = own.front()->channel;
  SUPERSTEP_ASSERT(number < table.channels().size());
  const auto& c = *table.channels()[number];
  try {
    const auto updated =
        When == arrival::of_tasks ? c.update(state, own, ids) : c.extend(state, own, ids);
    if (!updated) [[unlikely]]
      return updated.error();
    if (*updated == changed::yes)
      changes.push_back(number);
  } catch (...) {
    return failed_update(c);
  }
  return {};
}

/// The writes of one step, a group for each channel.
struct update_plan {
  using groups = boost::container::small_vector<group, 4>;
  /// The groups whose update may fail. They are applied first, so that a failure leaves little to
  /// undo. If the first of them fails, nothing has to be undone.
  groups risky;
  groups safe; ///< the other groups
  /// whether the state must be copied first, because a risky channel does not undo a failed update
  bool needs_copy = false;
};

/// Sorts the writes and plans their order.
/// @pre !writes.empty()
update_plan plan_of(const detail::program& table, std::span<write*> writes) {
  const auto& channels = table.channels();
  auto plan = update_plan{};
  if (is_of_one_channel(writes)) { // then it does not matter whether the update may fail
    plan.needs_copy = !channels[writes.front()->channel]->is_undone();
    plan.safe.push_back(writes);
    return plan;
  }
  sort_by_channel(writes, channels.size());
  SUPERSTEP_ASSERT(std::is_sorted(writes.begin(), writes.end(), comes_before));
  for (auto rest = group{writes}; !rest.empty();) {
    const auto own = take_group(rest);
    const auto& c = *channels[own.front()->channel];
    if (!c.may_fail(own)) {
      plan.safe.push_back(own);
      continue;
    }
    plan.risky.push_back(own);
    plan.needs_copy = plan.needs_copy || !c.is_undone();
  }
  return plan;
}

/// Copies the values that will be updated and that other states share. Done before the first
/// update, because those that cannot fail are not undone.
void own_values(const detail::program& table, state_block& state, const update_plan& plan) {
  for (const auto* groups : {&plan.risky, &plan.safe})
    for (const auto own : *groups)
      table.channels()[own.front()->channel]->own_value(state);
}

/// Carries out the updates of one barrier.
class updater {
public:
  updater(const detail::program& table, state_block& state, id_source& ids,
          detail::thin_list<std::uint32_t>& changes, arrival when)
      : table_{table}, state_{state}, ids_{ids}, changes_{changes}, when_{when} {}

  /// Updates the channels as planned.
  /// @param undoes whether to keep the old values of the risky channels, to restore them if an
  /// update fails; false if the caller has a copy of the whole state, or drops the state after a
  /// failure
  result<void> carry_out(const update_plan& plan, bool undoes) {
    const auto had = changes_.size();
    for (const auto& own : plan.risky) {
      if (auto done = update(own, undoes && &own != &plan.risky.back()); !done) {
        for (const auto& old : kept_)
          old->restore(state_);
        return done;
      }
    }
    for (const auto& own : plan.safe)
      if (auto done = update(own, false); !done)
        return done;
    if (!plan.risky.empty())
      std::sort(changes_.begin() + had, changes_.end());
    return {};
  }

private:
  result<void> apply(group own) {
    return when_ == arrival::of_tasks
               ? update_channel<arrival::of_tasks>(table_, state_, own, ids_, changes_)
               : update_channel<arrival::later>(table_, state_, own, ids_, changes_);
  }
  result<void> update(group own, bool keeps) {
    if (!keeps)
      return apply(own);
    const auto& c = *table_.channels()[own.front()->channel];
    try {
      kept_.push_back(c.keep(state_));
    } catch (...) {
      return failed_update(c);
    }
    auto done = apply(own);
    if (!done) // a failed update leaves the value unchanged
      kept_.pop_back();
    return done;
  }

  const detail::program& table_;
  state_block& state_;
  id_source& ids_;
  detail::thin_list<std::uint32_t>& changes_;
  arrival when_;
  std::vector<std::unique_ptr<channel::kept_value>> kept_;
};

/// Applies writes to any number of channels. If it fails, the state is as it was before.
[[gnu::noinline]] result<void> apply_planned(const detail::program& table, state_ptr& state,
                                             std::span<write*> writes, id_source& ids,
                                             detail::thin_list<std::uint32_t>& changes,
                                             arrival when) {
  const auto plan = plan_of(table, writes);
  // The state is copied if a channel cannot undo its update, or if a snapshot or an abandoned body
  // may still read it. The old state then also serves to undo a failed step.
  auto before = state_ptr{};
  if (plan.needs_copy || state->use_count() > 1) {
    before = state;
    state = before->clone();
  } else if (state->shares_values()) {
    own_values(table, *state, plan);
  }
  auto applied = updater{table, *state, ids, changes, when}.carry_out(plan, before == nullptr);
  if (!applied) {
    if (before)
      state = std::move(before);
    changes.clear();
  }
  return applied;
}

} // namespace

/// Applies the writes in `ordered_`. If it fails, the state is as it was before.
result<void> run_state::apply_ordered() {
  if (ordered_.empty())
    return {};
  if (is_of_one_channel(ordered_) && state_->use_count() == 1 &&
      table_->channels()[ordered_.front()->channel]->is_undone()) // the usual case
    return update_channel<arrival::of_tasks>(*table_, *state_, ordered_, ids_, changes_);
  return apply_planned(*table_, state_, ordered_, ids_, changes_, arrival::of_tasks);
}

result<void> run_state::apply_outside(std::span<write> from_outside) {
  ordered_.clear();
  for (auto& each : from_outside)
    ordered_.push_back(&each);
  auto changed_before = std::exchange(changes_, {});
  auto applied = result<void>{};
  try {
    if (!ordered_.empty()) // the ids continue those of the step
      applied = apply_planned(*table_, state_, ordered_, ids_, changes_, arrival::later);
    for (const auto number : changes_)
      if (std::find(changed_before.begin(), changed_before.end(), number) == changed_before.end())
        changed_before.push_back(number);
  } catch (...) {
    changes_ = std::move(changed_before);
    throw;
  }
  changes_ = std::move(changed_before);
  return applied;
}

result<void> apply_in_order(const detail::program& table, state_block& state,
                            std::span<write*> writes, id_source& ids,
                            detail::thin_list<std::uint32_t>& changes) {
  if (writes.empty())
    return {};
  return updater{table, state, ids, changes, arrival::of_tasks}.carry_out(plan_of(table, writes),
                                                                          false);
}

} // namespace superstep

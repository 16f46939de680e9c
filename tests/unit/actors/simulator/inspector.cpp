// SPDX-License-Identifier: Apache-2.0
// The rules for the records, lists and timers of a lane.
#include "unit/actors/simulator/inspector.hpp"

#include "actors/lane_records.hpp"

#include <algorithm>

namespace superstep {

std::string lane_inspector::check_run(const run& r) {
  if (!r.is_live()) {
    const auto& on = static_cast<const lane_run&>(r);
    if (r.phase != run_phase::idle || !r.open.empty() || r.thread || r.turn.is_listed())
      return "a run that has ended is not released";
    const auto is_used = [](const pooled_actor_ptr& own) { return own != nullptr; };
    if (on.is_known() || std::ranges::any_of(on.node_actors, is_used))
      return "a run that has ended has actors";
    if (r.deadline_timer.is_set() || r.own_extras)
      return "a run that has ended has timers";
    return {};
  }
  auto offloaded = std::size_t{0};
  for (auto i = std::size_t{0}; i < r.open.size(); ++i) {
    const auto& c = *r.open[i];
    if (c.owner != &r || !c.is_detached() || c.open_index != i)
      return "an open call does not belong to its run";
    offloaded += c.is_offloaded() ? 1 : 0;
  }
  if (r.offloaded < offloaded)
    return "the number of offloaded bodies is wrong";
  if (!std::ranges::all_of(r.extras().retries, [](const auto& t) { return t->is_set(); }))
    return "a retry waits without a timer";
  const auto is_saved = r.thread && r.thread->checkpointer();
  if (r.phase == run_phase::settling && !is_saved && !r.extras().settle_timer.is_set())
    return "a failed run waits for its bodies without a time limit";
  return {};
}

std::string lane_inspector::check_calls(const lane& l) {
  const auto& table = l.runs_.calls_;
  for (const auto& each : table.records_.all()) {
    const auto& c = static_cast<const lane_call&>(*each);
    const auto is_free = table.records_.times_free(*each);
    const auto is_idle = c.phase == call_phase::idle;
    if (is_free > 1 || (is_free == 1) != (is_idle && each.get() != l.in_place_))
      return "a call is in two lists or in none";
    if (is_idle && (c.owner != nullptr && each.get() != l.in_place_))
      return "a free call record has an owner";
    if (is_free == 1 && (c.actor || c.extras().join || !c.is_clean()))
      return "a free call record has an outcome or an actor";
    if (c.is_detached() &&
        (c.owner == nullptr || !c.owner->is_live() || c.open_index >= c.owner->open.size() ||
         c.owner->open[c.open_index] != each.get()))
      return "a call is not in the list of its run";
    if (c.phase == call_phase::given_up && c.owner != nullptr)
      return "a call that was given up has an owner";
    if (c.phase == call_phase::in_place || c.phase == call_phase::resuming)
      return "a body runs on a lane that sleeps";
  }
  return {};
}

std::string lane_inspector::check_timers(const lane& l) {
  for (const auto* t : l.runs_.timers_.heap_) {
    if (t->kind == timer_kind::call_limit) {
      const auto& c = *static_cast<const call*>(t->owner);
      if (c.owner == nullptr || !c.is_detached())
        return "a timer belongs to a call that has ended";
    } else if (!static_cast<const run*>(t->owner)->is_live()) {
      return "a timer belongs to a run that has ended";
    }
  }
  return {};
}

std::string lane_inspector::check(lane& l) {
  if (!l.inbox_.is_asleep() || l.inbox_.is_interrupted())
    return {};
  if (!l.runs_.ready_.empty())
    return "a lane sleeps although its ready list has entries";
  auto live = std::size_t{0};
  for (const auto& r : l.runs_.runs_.all()) {
    if (auto broken = check_run(*r); !broken.empty())
      return broken;
    live += r->is_live() ? 1 : 0;
  }
  if (live != l.runs_.live_.size() || l.runs_.runs_.used() != live)
    return "a run is in no list or in two";
  if (auto broken = check_timers(l); !broken.empty())
    return broken;
  return check_calls(l);
}

std::string lane_inspector::check_empty(lane& l) {
  if (l.runs_.live_runs() != 0)
    return "a run is live at the end";
  if (l.host().load() != 0)
    return "the load of a lane is not 0 at the end";
  if (l.runs_.calls_.used() != 1) // the record of the bodies that run in place
    return "a call record is in use at the end";
  if (!l.runs_.timers_.empty())
    return "a timer is left at the end";
  return check(l);
}

std::vector<pooled_actor_ptr> lane_inspector::actors_of(lane& l, const std::string& run_id) {
  auto all = std::vector<pooled_actor_ptr>{};
  for (const auto& each : l.runs_.runs_.all()) {
    auto& r = on_lane(*each);
    if (!r.is_live() || !r.request.config || r.request.config->run_id != run_id)
      continue;
    all.push_back(r.coordinator_handle(l));
    for (auto* c : r.open)
      if (!c->extras().barrier)
        all.push_back(l.host().actor_of(on_lane(*c)));
    for (auto n = std::uint32_t{0}; n < r.node_actors.size(); ++n)
      all.push_back(l.host().node_actor(r, n));
  }
  return all;
}

} // namespace superstep

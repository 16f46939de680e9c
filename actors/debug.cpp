// SPDX-License-Identifier: Apache-2.0
// Implements the inspection of live runs and their actors (engine_debug, actor_ref). The data is
// collected on the run's lane, because only the lane may read its runs.
#include "engine_core.hpp"

#include <superstep/actors/debug.hpp>

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <future>
#include <utility>

namespace superstep {

/// A handle to an actor, and the engine_core, which must live as long as the actor.
struct actor_ref::held {
  held(std::shared_ptr<detail::engine_core> c, pooled_actor_ptr a)
      : core{std::move(c)}, actor{std::move(a)} {}
  std::shared_ptr<detail::engine_core> core;
  pooled_actor_ptr actor;
};

void actor_ref::exit() const {
  caf::anon_send_exit(caf::actor_cast<caf::actor>(actor_->actor), caf::exit_reason::kill);
}

void actor_ref::monitor(std::function<void()> down) const {
  actor_->actor->get()->attach_functor([down = std::move(down)] {
    try {
      down();
    } catch (...) {
      report_stray("the monitor of an actor", std::current_exception());
    }
  });
}

bool actor_ref::is_alive() const {
  return !pooled_actor_of(actor_->actor).is_dead();
}

std::uint64_t actor_ref::id() const {
  return actor_->actor->id();
}

namespace {

call_state seen_state(const call& c) noexcept {
  switch (c.phase) {
  case call_phase::waiting:
    return call_state::queued;
  case call_phase::job:
    return c.claimed.load(std::memory_order_relaxed) ? call_state::running : call_state::queued;
  case call_phase::mailed:
  case call_phase::activated:
    return c.turn.kind() == ready_kind::resume ? call_state::suspended : call_state::queued;
  case call_phase::suspended:
    return call_state::suspended;
  case call_phase::in_place:
  case call_phase::resuming:
  case call_phase::taken:
  case call_phase::given_up:
    return call_state::running;
  case call_phase::idle:
  case call_phase::lingering:
    break;
  }
  return call_state::idle;
}

} // namespace

std::vector<actor_info> engine_debug::actors(const run_handle& handle) const {
  // Only the message owns the promise. If the lane is no longer served, or if the run has ended,
  // the message is dropped, which breaks the promise and ends the wait below.
  auto answer = std::make_shared<std::promise<std::vector<actor_info>>>();
  auto found = answer->get_future();
  const auto at = detail::engine_core::ticket{handle.run_, handle.lane_};
  core_->on_run(at, [this, answer = std::move(answer)](lane& at_lane, run& r) {
    auto all = std::vector<actor_info>{};
    const auto add = [&](const pooled_actor_ptr& s, actor_kind kind, call_state state,
                         std::string node, std::string task) {
      auto ref = actor_ref{};
      ref.actor_ = std::make_shared<actor_ref::held>(core_, s);
      all.push_back({std::move(ref), kind, state, std::move(node), std::move(task)});
    };
    auto& on = on_lane(r);
    add(on.coordinator_handle(at_lane), actor_kind::coordinator, call_state::idle, {}, {});
    auto busy = std::vector<bool>(on.node_actors.size());
    for (auto* c : r.open) {
      if (c->extras().barrier)
        continue;
      const auto actor = at_lane.host().actor_of(on_lane(*c));
      const auto& t = r.step.tasks[c->task_number];
      // the entry of the graph has no node actor, but its branches may run so long that the call is
      // detached
      const auto is_own = c->extras().join || t.is_push() || t.node == detail::program::no_node;
      const auto kind = is_own ? actor_kind::tool : actor_kind::node;
      if (kind == actor_kind::node)
        busy[t.node] = true;
      add(actor, kind, seen_state(*c), r.table().node(t.node).name, r.task_path(t));
    }
    for (auto n = std::uint32_t{0}; n < on.node_actors.size(); ++n)
      if (!busy[n])
        add(at_lane.host().node_actor(r, n), actor_kind::node, call_state::idle,
            r.table().node(n).name, {});
    answer->set_value(std::move(all));
  });
  try {
    return found.get();
  } catch (const std::future_error&) { // the run has ended, so it has no actors
    return {};
  }
}

std::size_t engine_debug::live_runs() const {
  return core_->live_runs();
}

std::size_t engine_debug::hung_threads() const {
  return core_->threads().hung();
}

std::uint64_t engine_debug::moved_runs() const {
  auto all = std::uint64_t{0};
  for (const auto& l : core_->lanes())
    all += l->sharing().given();
  return all;
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// What a lane does for its coordinator (coordinator_host.hpp). Checkpointers answer on their own
// operating-system threads; the answers reach the lane as messages.
#include "lane_host.hpp"

#include "engine_core.hpp"
#include "lane.hpp"
#include "saved_result.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace superstep {

namespace {

/// A lease on its way from the checkpointer to the run that waits for it. If that run has ended,
/// the lease is released here. The release may grant the thread to another run that has ended, and
/// so on. Therefore the leases are collected and released in a loop, so that a long queue does not
/// grow the stack.
class granted_lease {
public:
  explicit granted_lease(result<lease_ptr> got) : got_{std::move(got)} {}
  granted_lease(const granted_lease&) = delete;
  granted_lease& operator=(const granted_lease&) = delete;
  ~granted_lease() {
    if (!got_ || *got_ == nullptr)
      return;
    thread_local auto* dropping = static_cast<std::vector<lease_ptr>*>(nullptr);
    if (dropping != nullptr) {
      dropping->push_back(std::move(*got_));
      return;
    }
    auto all = std::vector<lease_ptr>{};
    dropping = &all;
    all.push_back(std::move(*got_));
    while (!all.empty()) {
      const auto last = std::move(all.back());
      all.pop_back();
    }
    dropping = nullptr;
  }
  [[nodiscard]] result<lease_ptr> take() { return std::exchange(got_, lease_ptr{}); }

private:
  result<lease_ptr> got_;
};

/// The answer to take(), which arrives before take() returns or later on another thread.
struct lease_answer {
  std::mutex mutex;
  std::optional<result<lease_ptr>> got;
  bool is_late = false;     ///< take() has returned without an answer
  bool is_answered = false; ///< further answers are dropped; a checkpointer may answer and throw
};

} // namespace

lane_host::lane_host(detail::engine_core& core, lane& owner)
    : coordinator_host{core.ticks()}, core_{core}, lane_{owner},
      actors_{core.system(), core.options().pool_actors ? core.options().pooled_actors_max : 0},
      numbers_{owner.index()} {
  SUPERSTEP_ASSERT(owner.index() < run_sharing::numbers_step);
}

std::unique_ptr<run> lane_host::make_run() {
  return std::make_unique<lane_run>();
}

std::unique_ptr<call> lane_host::make_call() {
  return std::make_unique<lane_call>(lane_);
}

void lane_host::acquire(run& r, const detail::program& table) {
  on_lane(r).node_actors.resize(table.nodes().size());
}

void lane_host::release(run& r) noexcept {
  auto& on = on_lane(r);
  for (auto& own : on.node_actors)
    if (own)
      actors_.give_back(std::move(own));
  if (auto coordinator = on.take_coordinator())
    actors_.give_back(std::move(coordinator));
  lane_.forget_run(r);
}

void lane_host::assign(run& r, lane_call& c, std::uint32_t number) {
  const auto& t = r.step.tasks[number];
  if (t.is_push()) {
    c.actor = actors_.take({actor_kind::tool, &lane_, &r, nullptr, r.generation, 0, t.node});
    return;
  }
  SUPERSTEP_ASSERT(t.node < on_lane(r).node_actors.size());
  c.actor = node_actor(r, t.node);
}

void lane_host::acquire(call& c) {
  auto& on = on_lane(c);
  on.actor = actors_.take(
      {actor_kind::tool, &lane_, c.owner, &c, c.owner->generation, c.generation, c.input.node});
}

namespace {

/// The largest number of nodes of a program whose idle actors are released when a body waits.
/// With more nodes, looking for them could take longer than the body.
constexpr auto released_nodes_max = std::size_t{32};

} // namespace

void lane_host::suspended(call& c) noexcept {
  SUPERSTEP_ASSERT(!on_lane(c).is_acquired);
  if (!actors_.reuses())
    return;
  auto& on = on_lane(c);
  if (const auto* const actor = on.current_actor()) {
    auto* const slot = slot_of(*c.owner, *actor);
    const auto is_shared = slot != nullptr && slot->get() == on.actor.get();
    if (auto taken = on.take_unknown_actor(is_shared ? 2 : 1)) {
      if (is_shared)
        slot->reset();
      actors_.give_back(std::move(taken));
    }
  }
  auto& nodes = on_lane(*c.owner).node_actors;
  if (nodes.size() > released_nodes_max)
    return;
  for (auto& own : nodes)
    if (own && pooled_actor_of(own).is_ours_alone())
      actors_.give_back(std::move(own));
}

/// Returns the place for the actor of a node in the run's record; null for the actors of Sends and
/// forks, which end with their calls.
pooled_actor_ptr* lane_host::slot_of(run& r, const pooled_actor& actor) noexcept {
  auto& nodes = on_lane(r).node_actors;
  const auto& at = actor.assignment;
  return at.kind == actor_kind::node && at.node < nodes.size() ? &nodes[at.node] : nullptr;
}

/// Stores the actor of a call with its node, so that it ends with the run. Returns whether the node
/// has this actor now.
bool lane_host::keep(run& r, const pooled_actor_ptr& actor) noexcept {
  auto* const slot = slot_of(r, pooled_actor_of(actor));
  if (slot == nullptr)
    return false;
  if (!*slot)
    *slot = actor;
  return slot->get() == actor.get();
}

/// Ends the use of a node's actor by a call.
/// @param of the run of the call; null if the call was abandoned while its activation was mailed
void lane_host::release_node_actor(run* of, lane_call& c, pooled_actor_ptr&& actor) noexcept {
  auto& at = pooled_actor_of(actor);
  const auto ends_with_call = bool{c.has_own_actor};
  c.has_own_actor = false;
  if (of != nullptr && keep(*of, actor)) {
    if (at.is_dead())
      slot_of(*of, at)->reset();
  } else if (of != nullptr || ends_with_call) {
    actors_.give_back(std::move(actor));
  } else {
    at.end_if_retired(); // its run may have ended meanwhile
  }
}

void lane_host::release(call& c) noexcept {
  auto* const of = c.owner;
  auto actor = on_lane(c).take_actor();
  if (!actor)
    return;
  auto& at = pooled_actor_of(actor);
  if (c.phase == call_phase::activated && c.take_activation())
    at.release();
  if (at.assignment.kind == actor_kind::tool)
    actors_.give_back(std::move(actor));
  else
    release_node_actor(of, on_lane(c), std::move(actor));
}

void lane_host::release_activated(call& c) noexcept {
  SUPERSTEP_ASSERT(c.owner == nullptr && on_lane(c).actor);
  auto actor = on_lane(c).take_actor();
  auto& at = pooled_actor_of(actor);
  at.release();
  if (at.assignment.kind == actor_kind::tool)
    actors_.give_back(std::move(actor));
  else
    release_node_actor(nullptr, on_lane(c), std::move(actor));
}

pooled_actor_ptr lane_host::actor_of(lane_call& c) {
  auto actor = c.actor_handle();
  static_cast<void>(keep(*c.owner, actor));
  return actor;
}

const pooled_actor_ptr& lane_host::node_actor(run& r, std::uint32_t node) {
  auto& own = on_lane(r).node_actors[node];
  if (!own)
    own = actors_.take({actor_kind::node, &lane_, &r, nullptr, r.generation, 0, node});
  return own;
}

bool lane_host::mail_activation(call& c) {
  auto& on = on_lane(c);
  // the run may end before the actor answers
  on.has_own_actor = !keep(*c.owner, on.actor);
  return pooled_actor_of(on.actor).activate(c);
}

void lane_host::apply_mail(run& r) {
  mail_.apply(r);
  set_mail(!mail_.is_empty());
}

void lane_host::drop_mail(run& r) {
  mail_.drop(r);
  set_mail(!mail_.is_empty());
}

bool lane_host::start_job(call& c) {
  return core_.add_job(c);
}

std::uint64_t lane_host::expect_run() noexcept {
  load_.fetch_add(1, std::memory_order_relaxed);
  return numbers_.fetch_add(run_sharing::numbers_step, std::memory_order_relaxed) +
         run_sharing::numbers_step;
}

std::optional<result<lease_ptr>> lane_host::take_lease(run& r) {
  // take() may call `arrived` before it returns, on this thread, or later on another thread. Only a
  // late answer is sent to the lane as a message.
  const auto& checkpointer = r.thread->checkpointer();
  const auto at = std::make_shared<lease_answer>();
  const auto& set = r.request.config->thread;
  const auto arrived = [at, core = core_.weak_from_this(), number = r.number,
                        index = lane_.index()](result<lease_ptr> got) {
    const auto lock = std::scoped_lock{at->mutex};
    if (std::exchange(at->is_answered, true))
      return;
    if (!at->is_late) {
      at->got = std::move(got);
      return;
    }
    const auto granted = std::make_shared<granted_lease>(std::move(got));
    if (const auto alive = core.lock())
      alive->on_lane(index,
                     [number, granted](lane& l) { l.runs().leased(number, granted->take()); });
  };
  try {
    checkpointer->take(r.thread->key().thread_id, set ? set->on_busy : busy_policy::wait, arrived);
  } catch (...) {
    arrived(checkpointer_failure(r.thread->key(), std::current_exception()));
  }
  auto now = std::optional<result<lease_ptr>>{};
  {
    const auto lock = std::scoped_lock{at->mutex};
    now = std::exchange(at->got, std::nullopt);
    at->is_late = !now;
  }
  return now;
}

bool lane_host::wait_until_saved(run& r) {
  return r.thread->checkpointer()->when_saved(r.thread->key(), [core = core_.weak_from_this(),
                                                                number = r.number,
                                                                step = r.state.step(),
                                                                lane = lane_.index()] {
    if (const auto alive = core.lock())
      alive->on_lane(lane, [number, step](superstep::lane& l) { l.runs().saved(number, step); });
  });
}

std::function<void()> lane_host::canceller(std::uint64_t number) {
  return [core = core_.weak_from_this(), number, lane = lane_.index()] {
    if (const auto alive = core.lock())
      alive->cancel({number, lane});
  };
}

void lane_host::deliver(std::uint64_t number, std::function<void(detail::raw_result)>&& done,
                        detail::raw_result&& raw, std::shared_ptr<saved_result> saved,
                        lease_ptr lease) noexcept {
  lane_.sharing().ended(number);
  count_end();
  if (!done)
    return;
  if (core_.is_over()) { // no callback is called after the engine was destroyed
    done = nullptr;      // closes a stream
    return;
  }
  if (saved)
    saved->deliver(core_.late(), std::move(lease), std::move(done), std::move(raw));
  else
    call_back(done, std::move(raw));
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// What a lane does for its coordinator (coordinator_host.hpp). Checkpointers answer on their own
// operating-system threads; the answers reach the lane as messages.
#include "lane_host.hpp"

#include "engine_core.hpp"
#include "lane.hpp"

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
    : core_{core}, lane_{owner},
      actors_{core.system(), core.options().pool_actors ? core.options().pooled_actors_max : 0},
      numbers_{owner.index()} {
  SUPERSTEP_ASSERT(owner.index() < run_sharing::numbers_step);
}

std::unique_ptr<run> lane_host::make_run() {
  return std::make_unique<lane_run>();
}

std::unique_ptr<call> lane_host::make_call() {
  auto made = std::make_unique<lane_call>(lane_);
  made->at.where = &lane_;
  return made;
}

void lane_host::acquire(run& r) {
  auto& on = on_lane(r);
  on.node_actors.resize(r.request.table->nodes().size());
  on.is_shown.store(false, std::memory_order_relaxed);
  on.coordinator = actors_.take(
      {actor_kind::coordinator, &lane_, &r, nullptr, r.generation, 0, detail::program::no_node});
}

void lane_host::release(run& r) noexcept {
  auto& on = on_lane(r);
  for (auto& a : on.node_actors)
    if (a)
      actors_.give_back(std::move(a));
  actors_.give_back(std::move(on.coordinator));
  lane_.forget_run(r);
}

void lane_host::assign(run& r, lane_call& c, std::uint32_t number) {
  const auto& t = r.step.tasks[number];
  if (t.is_push()) {
    c.actor = actors_.take({actor_kind::tool, &lane_, &r, nullptr, r.generation, 0, t.node});
    return;
  }
  SUPERSTEP_ASSERT(t.node < on_lane(r).node_actors.size());
  auto& own = on_lane(r).node_actors[t.node];
  if (!own)
    own = actors_.take({actor_kind::node, &lane_, &r, nullptr, r.generation, 0, t.node});
  c.actor = own;
}

void lane_host::acquire(call& c) {
  auto& on = on_lane(c);
  on.actor = actors_.take(
      {actor_kind::tool, &lane_, c.owner, &c, c.owner->generation, c.generation, c.input.node});
}

void lane_host::release(call& c) noexcept {
  auto actor = on_lane(c).take_actor();
  if (!actor)
    return;
  if (c.phase == call_phase::activated && c.take_activation())
    pooled_actor_of(actor).release();
  const auto& assignment = pooled_actor_of(actor).assignment;
  if (assignment.kind == actor_kind::tool)
    actors_.give_back(std::move(actor));
  else if (pooled_actor_of(actor).is_dead() && c.owner != nullptr &&
           assignment.node < on_lane(*c.owner).node_actors.size())
    on_lane(*c.owner).node_actors[assignment.node].reset();
}

void lane_host::release_activated(call& c) noexcept {
  SUPERSTEP_ASSERT(c.owner == nullptr && on_lane(c).actor);
  auto actor = on_lane(c).take_actor();
  auto& at = pooled_actor_of(actor);
  at.release();
  if (at.assignment.kind == actor_kind::tool)
    actors_.give_back(std::move(actor));
  else
    at.end_if_retired(); // its run may have ended meanwhile
}

bool lane_host::mail_activation(call& c) {
  return pooled_actor_of(on_lane(c).actor).activate(c);
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
  if (!done || core_.is_over()) // no callback is called after the engine was destroyed
    return;
  if (saved)
    saved->deliver(std::move(lease), std::move(done), std::move(raw));
  else
    call_back(done, std::move(raw));
}

} // namespace superstep

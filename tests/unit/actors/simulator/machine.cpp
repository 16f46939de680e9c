// SPDX-License-Identifier: Apache-2.0
// The parts of the engine that deal with real threads, simulated: the thread pool, the watcher, the
// sleep of a lane and the actor system. This file replaces actors/thread_pool.cpp, watcher.cpp,
// lane_sleep.cpp and actor_system.cpp.
#include "actors/actor_system.hpp"
#include "actors/engine_core.hpp"
#include "actors/lane_inbox.hpp"
#include "unit/actors/simulator/world.hpp"

#include <caf/scheduler/test_coordinator.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

namespace {

using simulation::world;

} // namespace

namespace {

std::vector<detail::engine_core*>& engines();

/// Asks lanes to share their runs with other lanes, in place of the real watcher.
void share_at_random() {
  auto& w = *world::current();
  if (w.is_calm())
    return;
  for (auto* const core : engines()) {
    const auto& lanes = core->lanes();
    if (lanes.size() < 2 || !w.random().one_in(2))
      continue;
    const auto from = w.random().below(lanes.size());
    const auto to = (from + 1 + w.random().below(lanes.size() - 1)) % lanes.size();
    if (!lanes[from]->sharing().is_idle())
      lanes[from]->sharing().ask(*lanes[to]);
  }
}

} // namespace

// ---- the sleep of a lane ----

void lane_inbox::wake() noexcept {
  if (asleep_.exchange(false))
    world::current()->unpark(this);
}

void lane_inbox::sleep(time_point until) {
  asleep_ = true;
  share_at_random();
  if (messages_.empty() && requests_.empty() && waits_.empty() && !interrupted_)
    world::current()->park(this, until);
  asleep_ = false;
}

// ---- the actor system ----

namespace {

/// An actor system whose scheduler runs its jobs as events of the world.
class simulated_system final : public caf::actor_system {
public:
  explicit simulated_system(caf::actor_system_config& config) : caf::actor_system{config} {
    jobs().run(); // the actors that CAF starts for itself
    world::current()->add_scheduler(jobs());
  }
  simulated_system(const simulated_system&) = delete;
  simulated_system& operator=(const simulated_system&) = delete;
  ~simulated_system() override {
    if (auto* const w = world::current())
      w->remove_scheduler(jobs());
  }

private:
  [[nodiscard]] caf::scheduler::test_coordinator& jobs() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(scheduler());
  }
};

} // namespace

std::unique_ptr<caf::actor_system> make_actor_system(caf::actor_system_config& config) {
  config.set("scheduler.policy", caf::atom("testing"));
  config.set("logger.console", caf::atom("none"));
  return std::make_unique<simulated_system>(config);
}

std::system_error no_threads(const std::error_code& why) {
  return std::system_error{why, "no simulated threads"};
}

// ---- the thread pool ----

bool worker::is_blocked() {
  return false;
}

thread_pool::thread_pool(detail::engine_core& core, const engine_options& options)
    : core_{core}, threads_max_{options.threads_max}, computing_max_{options.workers},
      idle_time_{options.thread_idle_time}, hung_after_{options.hung_after},
      hung_threads_max_{options.hung_threads_max}, short_serial_body_{options.watcher_tick} {}

bool thread_pool::can_serve() {
  return true;
}

bool thread_pool::may_grow() const noexcept {
  return true;
}

/// Starts a thread that serves the lane. As in the real pool, the thread keeps the engine alive.
void thread_pool::serve(lane& l, bool took_over) {
  members_.push_back(std::make_unique<worker>());
  auto* const self = members_.back().get();
  self->at.store(duty::lane);
  world::current()->spawn([this, &l, self, took_over, keep = core_.shared_from_this()] {
    l.serve(*self, took_over);
    ++ended_;
  });
}

bool thread_pool::add_job(call& c) {
  auto& w = *world::current();
  if (!w.is_calm() && w.random().one_in(16)) // the system does not allow more threads
    return false;
  members_.push_back(std::make_unique<worker>());
  w.spawn([this, &c, keep = core_.shared_from_this()] {
    if (c.claim())
      c.advance({});
    c.return_to_lane();
    ++ended_;
  });
  return true;
}

void thread_pool::pace() {}

bool thread_pool::is_busy() {
  return ended_ < members_.size();
}

namespace {

void answer_first(std::deque<run_request>& refused) {
  const auto request = std::move(refused.front());
  refused.pop_front();
  auto raw = detail::raw_result{};
  raw.error =
      make_run_error(graph_errc::cancelled, run_in_text(*request.config) +
                                                " was not started: the engine is shutting down");
  call_back(request.done, std::move(raw));
}

} // namespace

void thread_pool::refuse(run_request&& request) noexcept {
  if (is_over_)
    return;
  refused_.push_back(std::move(request));
  world::current()->post([this, keep = core_.shared_from_this()] {
    if (!refused_.empty())
      answer_first(refused_);
  });
}

void thread_pool::stop(std::chrono::milliseconds grace) {
  auto& w = *world::current();
  stopping_ = true;
  auto is_late = std::make_shared<bool>(false);
  w.at(w.now() + grace, [is_late] { *is_late = true; });
  w.run_until([&] { return *is_late || ended_ == members_.size(); });
  core_.close_lanes();
  while (!refused_.empty()) // a callback may submit another run, which is refused in turn
    answer_first(refused_);
  is_over_ = true;
}

// ---- the watcher ----

namespace {

/// A started watcher and its engine.
struct started_watcher {
  const watcher* self;
  std::function<void()> look;
  detail::engine_core* core;
};

std::vector<started_watcher>& watchers() {
  static auto all = std::vector<started_watcher>{};
  return all;
}

} // namespace

void simulation::let_watchers_look() {
  for (auto i = std::size_t{0}; i < watchers().size(); ++i)
    watchers()[i].look();
  share_at_random();
}

namespace {

/// Returns the engines whose watcher has been started and not destroyed.
std::vector<detail::engine_core*>& engines() {
  static auto all = std::vector<detail::engine_core*>{};
  all.clear();
  for (const auto& w : watchers())
    all.push_back(w.core);
  return all;
}

} // namespace

std::vector<lane*> simulation::all_lanes() {
  auto all = std::vector<lane*>{};
  for (const auto& w : watchers())
    for (const auto& l : w.core->lanes())
      all.push_back(l.get());
  return all;
}

watcher::watcher(detail::engine_core& core, std::chrono::microseconds tick)
    : core_{core}, tick_{tick}, timer_{-1} {}

watcher::~watcher() {
  static_cast<void>(timer_);
  std::erase_if(watchers(), [this](const auto& entry) { return entry.self == this; });
}

void watcher::start() {
  seen_.assign(core_.lanes().size(), {});
  watchers().push_back({this, [this] { static_cast<void>(poll()); }, &core_});
}

void watcher::stop() {
  stopping_.store(true);
}

/// Compares the guards of the lanes with those of the last poll. World::block() schedules polls.
watcher::activity watcher::poll() {
  auto out = activity::none;
  for (auto i = std::size_t{0}; i < seen_.size(); ++i) {
    auto& l = *core_.lanes()[i];
    const auto guard = l.guard().seen();
    const auto before = std::exchange(seen_[i].guard, guard);
    if ((guard & 1) == 0)
      continue;
    out = activity::bodies;
    if (guard != before) {
      if (!world::current()->is_calm() && world::current()->random().one_in(8))
        l.guard().hint_heavy();
      continue;
    }
    auto* const server = l.guard().server();
    if (l.guard().take_over(guard)) {
      server->begin_body(world::current()->now());
      core_.threads().serve(l, true);
    }
  }
  return out;
}

void watcher::wake() noexcept {}

} // namespace superstep

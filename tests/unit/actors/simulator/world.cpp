// SPDX-License-Identifier: Apache-2.0
// The virtual clock and the events of a simulated machine. Replaces
// std::chrono::steady_clock::now() in this program: all parts of the engine see the virtual time.
#include "unit/actors/simulator/world.hpp"

#include "actors/phases.hpp"

#include <caf/scheduler/test_coordinator.hpp>

#include <algorithm>
#include <ctime>
#include <utility>

namespace superstep::simulation {

namespace {

/// A schedule of the generator has a few hundred events.
constexpr auto events_max = std::uint64_t{200'000};

constexpr auto tick = microseconds{500};
constexpr auto start_of_time = time_point{std::chrono::hours{1'000}};

std::vector<std::shared_ptr<const void>>& kept_objects() {
  static auto all = std::vector<std::shared_ptr<const void>>{};
  return all;
}

transition_counts all_transitions{};

} // namespace

world* world::current_ = nullptr;
mutant active_mutant = mutant::none;

bool is_on(mutant m) noexcept {
  return m == active_mutant;
}

void yield() noexcept {
  if (auto* const w = world::current())
    w->yield();
}

void keep(std::shared_ptr<const void> object) {
  kept_objects().push_back(std::move(object));
}

void drop_kept() {
  kept_objects().clear();
}

void count_transition(const std::type_info& machine, int from, int to) noexcept {
  if (active_mutant == mutant::none)
    ++all_transitions[machine == typeid(run_phase) ? 0 : 1][static_cast<std::size_t>(from)]
                     [static_cast<std::size_t>(to)];
}

const transition_counts& transitions() noexcept {
  return all_transitions;
}

world::world(std::uint64_t seed, bool is_calm)
    : now_{start_of_time}, random_{seed}, is_calm_{is_calm} {
  SUPERSTEP_ASSERT(current_ == nullptr);
  current_ = this;
}

world::~world() {
  current_ = nullptr;
}

void world::remove_scheduler(const caf::scheduler::test_coordinator& jobs) {
  std::erase(schedulers_, &jobs);
}

void world::add(event e) {
  possible_.push_back(std::move(e));
}

void world::spawn(std::function<void()> body) {
  ++threads_;
  add({++last_id_, {}, std::make_shared<fiber>(std::move(body))});
}

void world::post(std::function<void()> run) {
  add({++last_id_, std::move(run), {}});
}

void world::at(time_point when, std::function<void()> run) {
  later_.emplace(when, event{++last_id_, std::move(run), {}});
}

void world::pause_workers(microseconds length) {
  workers_from_ = std::max(workers_from_, now_ + length);
  at(workers_from_, [] {}); // time advances to it
}

std::size_t world::choose(std::size_t count) {
  return is_calm_ ? 0 : random_.below(count);
}

void world::run_until(const std::function<bool()>& is_over) {
  while (!is_over() && step()) {
    if (++events_ > events_max)
      throw endless{};
    if (check_)
      check_();
  }
}

/// Lets one thing happen. Returns false if nothing can happen any more.
bool world::step() {
  for (;;) {
    while (!later_.empty() && later_.begin()->first <= now_)
      add(std::move(later_.extract(later_.begin()).mapped()));
    auto jobs = std::size_t{0};
    for (const auto* s : schedulers_)
      jobs += now_ < workers_from_ ? 0 : s->jobs.size();
    const auto all = possible_.size() + (jobs > 0 ? 1 : 0);
    if (all > 0) {
      const auto chosen = choose(all);
      if (chosen == possible_.size()) {
        order_ = (order_ ^ 1) * 0x100000001b3;
        const auto with = std::ranges::find_if(schedulers_, [](auto* s) { return s->has_job(); });
        (*with)->try_run_once();
        return true;
      }
      auto next = std::move(possible_[chosen]);
      possible_.erase(possible_.begin() + static_cast<std::ptrdiff_t>(chosen));
      order_ = (order_ ^ next.id) * 0x100000001b3;
      happen(std::move(next));
      return true;
    }
    if (later_.empty())
      return false;
    now_ = std::max(now_, later_.begin()->first);
  }
}

void world::happen(event e) {
  if (!e.thread) {
    e.run();
    return;
  }
  running_ = std::move(e.thread);
  running_->resume();
  const auto back = std::exchange(running_, nullptr);
  if (back->has_ended())
    --threads_;
}

void world::yield() {
  if (running_ == nullptr || is_calm_ || !random_.one_in(4))
    return;
  const auto self = running_;
  add({++last_id_, {}, self});
  self->suspend();
}

void world::block(microseconds length) {
  if (running_ == nullptr)
    return;
  const auto self = running_;
  // Two looks of a watcher find the thread in the same body and give its lane to another thread.
  for (auto looks = 1; looks <= 4 && looks * tick < length; ++looks)
    at(now_ + looks * tick, let_watchers_look);
  later_.emplace(now_ + length, event{++last_id_, {}, self});
  self->suspend();
}

void world::park(const void* key, time_point latest) {
  if (running_ == nullptr)
    return;
  const auto self = running_;
  const auto id = ++last_id_;
  parked_[key].emplace_back(id, self);
  if (latest != time_point::max())
    later_.emplace(latest, event{++last_id_,
                                 [this, key, id] {
                                   const auto found = parked_.find(key);
                                   if (found == parked_.end())
                                     return;
                                   const auto at =
                                       std::ranges::find(found->second, id, [](const auto& entry) {
                                         return entry.first;
                                       });
                                   if (at == found->second.end())
                                     return;
                                   auto woken = std::move(at->second);
                                   found->second.erase(at);
                                   add({++last_id_, {}, std::move(woken)});
                                 },
                                 {}});
  self->suspend();
}

void world::unpark(const void* key) {
  const auto found = parked_.find(key);
  if (found == parked_.end() || found->second.empty())
    return;
  auto woken = std::move(found->second.front().second);
  found->second.erase(found->second.begin());
  add({++last_id_, {}, std::move(woken)});
}

} // namespace superstep::simulation

/// Replaces the clock of the C++ library: all of the program sees the virtual time.
std::chrono::steady_clock::time_point std::chrono::steady_clock::now() noexcept {
  if (const auto* const w = superstep::simulation::world::current())
    return w->now();
  auto real = timespec{};
  ::clock_gettime(CLOCK_MONOTONIC, &real);
  return time_point{std::chrono::seconds{real.tv_sec} + std::chrono::nanoseconds{real.tv_nsec}};
}

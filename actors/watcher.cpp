// SPDX-License-Identifier: Apache-2.0
// The watcher's thread and its timer. Each poll compares the guard of every lane with the value of
// the last poll. The same odd value means that the lane is still inside the same body.
// lane::guarded() in lane_bodies.cpp writes the guard.
#include "watcher.hpp"

#include "engine_core.hpp"
#include "warning.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <sys/timerfd.h>
#include <unistd.h>

namespace superstep {

namespace {

/// Polling interval while the watcher sleeps. If a poke is lost while the watcher falls asleep,
/// this interval bounds the delay.
constexpr auto asleep_tick = std::chrono::milliseconds{20};
/// After this number of polls that have seen only lanes that save checkpoints, the watcher polls
/// less often, because a poll costs a thread switch and such lanes cannot be taken over. A body
/// that blocks between two saves is then noticed later, by at most this number of ticks. @{
constexpr auto polls_of_saves_min = 4U;
constexpr auto ticks_while_saving = 8;
/// @}
/// If a lane ran fewer bodies than this in a whole tick without a pause, its bodies are long enough
/// to run as jobs.
constexpr auto heavy_bodies_per_tick = std::uint64_t{25};

int make_timer() {
  const auto made = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  if (made < 0)
    throw std::system_error{errno, std::generic_category(),
                            "cannot create the timer of the engine (timerfd_create)"};
  return made;
}

/// Whether a thread waits for a core, and has used less CPU time than `enough` since it had used
/// `before`.
bool is_starved(const thread_clock& thread, const std::optional<std::chrono::nanoseconds>& before,
                std::chrono::nanoseconds enough) {
  const auto now = thread.used();
  return before && now && *now - *before < enough && thread.is_runnable();
}

timespec to_timespec(std::chrono::nanoseconds t) {
  return {t.count() / 1'000'000'000, t.count() % 1'000'000'000};
}

} // namespace

watcher::watcher(detail::engine_core& core, std::chrono::microseconds tick)
    : core_{core}, tick_{std::max(tick, std::chrono::microseconds{1})}, timer_{make_timer()} {}

watcher::~watcher() {
  ::close(timer_);
}

void watcher::start() {
  seen_.assign(core_.lanes().size(), {});
  running_.reserve(seen_.size());
  set_timer(tick_);
  try {
    thread_ = std::thread{[this] { run(); }};
  } catch (const std::system_error&) {
    warn("the system does not allow the watcher's thread, so a body that blocks occupies its lane "
         "until it returns: raise the limit of processes (ulimit -u)");
  }
}

void watcher::stop() {
  stopping_.store(true);
  set_timer(tick_);
  if (thread_.joinable())
    thread_.join();
}

void watcher::wake() noexcept {
  asleep_.store(false, std::memory_order_relaxed);
  set_timer(tick_);
}

void watcher::set_timer(std::chrono::nanoseconds each) noexcept {
  const auto set = [this](std::chrono::nanoseconds first, std::chrono::nanoseconds then) {
    const auto when = itimerspec{to_timespec(then), to_timespec(first)};
    ::timerfd_settime(timer_, 0, &when, nullptr);
  };
  set(each, each);
  if (stopping_.load()) // checked last, so that a poke during stop() does not delay the end
    set(std::chrono::nanoseconds{1}, each);
}

void watcher::wait_for_timer() noexcept {
  auto times = std::uint64_t{};
  // The result is not checked, because an interrupted read only causes an additional poll.
  [[maybe_unused]] const auto got = ::read(timer_, &times, sizeof times);
}

void watcher::run() {
  core_.cores().confine_thread();
  while (!stopping_.load()) {
    wait_for_timer();
    ticks_.fetch_add(1, std::memory_order_relaxed);
    const auto seen = poll();
    polls_of_saves_ = seen == activity::saves ? polls_of_saves_ + 1 : 0;
    if (seen == activity::none)
      // At once, not after further polls: a poll costs ten times as much as the system call by
      // which the next poke wakes the watcher.
      sleep(std::max<std::chrono::microseconds>(tick_, asleep_tick));
    else if (polls_of_saves_ >= polls_of_saves_min)
      sleep(tick_ * ticks_while_saving);
    else if (seen == activity::bodies && asleep_.load(std::memory_order_relaxed))
      wake(); // something runs although the poke for it was lost, or after a save
  }
}

/// Polls less often, until something starts to run.
void watcher::sleep(std::chrono::microseconds each) noexcept {
  if (asleep_.load(std::memory_order_relaxed) && each == each_)
    return;
  each_ = each;
  set_timer(each);
  asleep_.store(true);
  // A lane may have called poke() before the store.
  if (std::ranges::any_of(core_.lanes(),
                          [](const auto& l) { return activity_of(*l) == activity::bodies; }))
    wake();
}

watcher::activity watcher::activity_of(lane& l) {
  if (l.sharing().is_idle())
    return activity::none;
  return l.host().is_saving() ? activity::saves : activity::bodies;
}

/// Polls all lanes once.
watcher::activity watcher::poll() {
  SUPERSTEP_ASSERT(seen_.size() == core_.lanes().size());
  auto out = core_.threads().is_busy() ? activity::bodies : activity::none;
  running_.clear();
  for (auto i = std::size_t{0}; i < seen_.size(); ++i) {
    auto& l = *core_.lanes()[i];
    auto& seen = seen_[i];
    const auto guard = l.guard().seen();
    const auto before = std::exchange(seen.guard, guard);
    const auto inside = (guard & 1) != 0;
    const auto now = activity_of(l);
    out = std::max(out, inside ? activity::bodies : now);
    if ((inside || guard != before) && now != activity::none)
      running_.push_back(&l);
    if (!inside)
      continue;
    const auto thread = l.guard().clock();
    if (guard == before) {
      // The lane has not left its body since the last poll. A thread is reserved first, because a
      // lane that is taken over and not served would stop. Afterwards the old thread counts as one
      // that runs a body.
      if (is_starved(thread, seen.used, tick_ / 2) || !core_.threads().can_serve())
        continue;
      auto* const server = l.guard().server();
      if (l.guard().take_over(guard)) {
        server->lose_lane(std::chrono::steady_clock::now());
        core_.threads().serve(l, true);
      }
      continue;
    }
    const auto bodies = (guard >> 1) - (before >> 1);
    if ((before & 1) != 0 && bodies < heavy_bodies_per_tick &&
        !is_starved(thread, seen.used, bodies * tick_ / heavy_bodies_per_tick))
      l.guard().hint_heavy();
    seen.used = thread.used();
  }
  core_.threads().pace();
  share();
  return out;
}

/// Asks lanes that run bodies to give runs to the idle lanes.
void watcher::share() {
  auto askable = running_.size();
  for (const auto& l : core_.lanes()) {
    if (askable == 0)
      return;
    if (!l->sharing().is_idle())
      continue;
    --askable;
    running_[next_asked_++ % running_.size()]->sharing().ask(*l);
  }
}

} // namespace superstep

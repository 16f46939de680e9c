// SPDX-License-Identifier: Apache-2.0
#include "watcher.hpp"

#include "engine_core.hpp"

namespace superstep {

namespace {

/// Idle looks before the watcher goes to sleep: waking it costs more than a few looks.
constexpr auto idle_looks_max = 40U;
/// Fewer bodies than this in one tick, all of it busy: they are worth spreading over threads.
constexpr auto heavy_bodies_per_tick = std::uint64_t{25};

} // namespace

watcher::watcher(engine_core& core, std::chrono::microseconds tick) : core_{core}, tick_{tick} {}

void watcher::start() {
  seen_.assign(core_.lanes().size(), 0);
  thread_ = std::thread{[this] { run(); }};
}

void watcher::stop() {
  {
    const auto lock = std::scoped_lock{mutex_};
    stopping_ = true;
    asleep_.store(false, std::memory_order_relaxed);
  }
  changed_.notify_one();
  if (thread_.joinable())
    thread_.join();
}

void watcher::wake() noexcept {
  {
    const auto lock = std::scoped_lock{mutex_};
    asleep_.store(false, std::memory_order_relaxed);
  }
  changed_.notify_one();
}

void watcher::run() {
  auto idle_looks = 0U;
  auto lock = std::unique_lock{mutex_};
  while (!stopping_) {
    if (idle_looks >= idle_looks_max) {
      idle_looks = 0;
      asleep_.store(true, std::memory_order_relaxed);
      // A poke between the last look and this store is lost; the time bounds what that may cost.
      changed_.wait_for(lock, std::chrono::milliseconds{20},
                        [this] { return stopping_ || !asleep_.load(std::memory_order_relaxed); });
      asleep_.store(false, std::memory_order_relaxed);
      idle_looks = idle_looks_max - 2;
    }
    changed_.wait_for(lock, tick_, [this] { return stopping_; });
    lock.unlock();
    idle_looks = look() ? 0 : idle_looks + 1;
    lock.lock();
  }
}

/// True when something was running.
bool watcher::look() {
  auto busy = core_.threads().is_busy();
  for (auto i = std::size_t{0}; i < seen_.size(); ++i) {
    auto& l = *core_.lanes()[i];
    const auto guard = l.guard();
    const auto before = std::exchange(seen_[i], guard);
    const auto inside = (guard & 1) != 0;
    busy = busy || inside || guard != before;
    if (!inside)
      continue;
    if (guard == before) {
      // A thread first: a lane taken and not served would stand still. The old server's thread is
      // from now on one that runs a body.
      if (!core_.threads().can_serve())
        continue;
      auto* const server = l.server();
      if (l.take_over(guard)) {
        server->at.store(duty::body, std::memory_order_relaxed);
        core_.threads().serve(l, true);
      }
    } else if ((before & 1) != 0 && (guard >> 1) - (before >> 1) < heavy_bodies_per_tick) {
      l.hint_heavy();
    }
  }
  core_.threads().pace();
  return busy;
}

} // namespace superstep

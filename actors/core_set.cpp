// SPDX-License-Identifier: Apache-2.0
// Confines threads to some cores by their affinity, so that also bodies which move to other threads
// (watcher.cpp) use no more cores than the user allows.
#include "core_set.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace superstep {

namespace {

/// The number of cores that the sets of this process have taken so far.
std::atomic<std::size_t> taken{0};

/// Reads the cores that the calling thread may use. Returns false if the system does not report
/// them, as on machines with more than CPU_SETSIZE cores.
bool read_cores(cpu_set_t& into) noexcept {
  CPU_ZERO(&into);
  return ::sched_getaffinity(0, sizeof into, &into) == 0 && CPU_COUNT(&into) > 0;
}

/// Returns the position of a core in `numbers`, or 0 if it is not one of them.
std::size_t position_of(int core, const std::vector<int>& numbers) {
  const auto at = std::find(numbers.begin(), numbers.end(), core);
  return at == numbers.end() ? 0 : static_cast<std::size_t>(at - numbers.begin());
}

} // namespace

int core_set::home_of_process() noexcept {
  static const auto home = ::sched_getcpu(); // -1 if the system does not report it
  return home;
}

core_set::core_set(std::size_t count, int home) {
  auto usable = cpu_set_t{};
  if (!read_cores(usable)) {
    size_ = std::max(1U, std::thread::hardware_concurrency());
    return;
  }
  auto numbers = std::vector<int>{};
  for (auto core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &usable))
      numbers.push_back(core);
  size_ = numbers.size();
  if (count == 0 || count >= numbers.size())
    return;
  is_limited_ = true;
  size_ = count;
  CPU_ZERO(&cores_);
  const auto first = position_of(home, numbers) + taken.fetch_add(count, std::memory_order_relaxed);
  for (auto i = std::size_t{0}; i < count; ++i)
    CPU_SET(numbers[(first + i) % numbers.size()], &cores_);
  SUPERSTEP_ASSERT(static_cast<std::size_t>(CPU_COUNT(&cores_)) == size_);
}

void core_set::confine_thread() const noexcept {
  // This fails only if all these cores were taken from the process. The thread then runs anywhere.
  if (is_limited_)
    static_cast<void>(::sched_setaffinity(0, sizeof cores_, &cores_));
}

confined_scope::confined_scope(const core_set& cores) noexcept
    : must_restore_{cores.is_limited() && read_cores(before_)} {
  if (must_restore_)
    cores.confine_thread();
}

confined_scope::~confined_scope() {
  if (must_restore_)
    static_cast<void>(::sched_setaffinity(0, sizeof before_, &before_));
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// Lets one allocation of the lane's thread fail while bodies wait for forked calls and for timers,
// for each of the first allocations. The run may fail, but no other run, and not the process.
#include <superstep/actors/engine.hpp>
#include <superstep/base/await.hpp>

#include <boost/describe/class.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

namespace {

/// Number of allocations of this thread until one fails; negative: none fails.
thread_local auto allocations_left = -1L;
std::atomic<bool> has_failed{false};
std::atomic<bool> allocations_stopped{false}; ///< whether no further allocation fails

bool fails_now() {
  if (allocations_stopped || allocations_left < 0 || allocations_left-- > 0)
    return false;
  has_failed = true;
  return true;
}

} // namespace

void* operator new(std::size_t size) {
  auto* const made = fails_now() ? nullptr : std::malloc(size);
  if (made == nullptr)
    throw std::bad_alloc{};
  return made;
}

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return fails_now() ? nullptr : std::malloc(size);
}

void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto each = static_cast<std::size_t>(alignment);
  auto* const made =
      fails_now() ? nullptr : std::aligned_alloc(each, (size + each - 1) / each * each);
  if (made == nullptr)
    throw std::bad_alloc{};
  return made;
}

void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}

namespace ss = superstep;
using namespace std::chrono_literals;

namespace fork_memory {

struct numbers {
  int n = 0;
};
BOOST_DESCRIBE_STRUCT(numbers, (), (n))

constexpr auto forks = 3;
constexpr auto node = ss::node<numbers>{"a"};

ss::task<int> nap() {
  auto rest = ss::sleep_for{1ms};
  co_await rest;
  co_return 1;
}

/// Returns a graph whose node waits for three coroutines. Allocation `k` of the lane fails after
/// they were created.
ss::compiled_graph<numbers> waiting_graph(long k) {
  auto g = ss::graph<numbers>{};
  g.add(node, [k](const numbers&) -> ss::task<ss::update<numbers>> {
    auto all = std::vector<ss::task<int>>{};
    for (auto i = 0; i < forks; ++i)
      all.push_back(nap());
    auto joined = ss::when_all(std::move(all));
    auto rest = ss::sleep_for{1ms};
    co_await rest; // resumed on the lane's thread
    allocations_left = k;
    const auto ended = co_await joined;
    allocations_left = -1;
    auto sum = 0;
    for (const auto& each : ended)
      sum += each.value.value_or(0);
    co_return ss::update{ss::set<&numbers::n>(sum)};
  });
  g.edge(ss::start, node);
  return g.compile();
}

/// Returns whether the run, and the one after it, ended as they may. The run may fail, or a
/// coroutine may be without a result, if an allocation has failed.
bool survives(long k) {
  has_failed = false;
  auto e = ss::engine{{.workers = 1}};
  const auto first = e.try_invoke(waiting_graph(k), numbers{});
  if (!has_failed && (first.error || first.state.n != forks)) {
    std::printf("allocation %ld: %s, n = %d\n", k,
                first.error ? first.error->text.c_str() : "no error", first.state.n);
    return false;
  }
  auto g = ss::graph<numbers>{};
  g.add(node, [](const numbers&) { return ss::update{ss::set<&numbers::n>(1)}; });
  g.edge(ss::start, node);
  const auto second = g.compile();
  allocations_stopped = true;
  const auto next = e.try_invoke(second, numbers{});
  allocations_stopped = false;
  const auto is_sound = !next.error && next.state.n == 1 && e.debug().live_runs() == 0;
  if (!is_sound)
    std::printf("allocation %ld: the next run: %s\n", k,
                next.error ? next.error->text.c_str() : "a wrong state");
  return is_sound;
}

} // namespace fork_memory

int main() {
  constexpr auto allocations = 60L;
  for (auto k = 0L; k < allocations; ++k)
    if (!fork_memory::survives(k))
      return 1;
  return 0;
}

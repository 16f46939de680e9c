// SPDX-License-Identifier: Apache-2.0
// The cores on which the threads of an engine run (engine_options::cores).
#include "actors/core_set.hpp"
#include "base/thread_clock.hpp"
#include "graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <sched.h>

using namespace testing;

namespace cores_types {

/// Returns the numbers of the cores that the calling thread may use; empty if they are not known.
std::vector<int> cores_of_this_thread() {
  auto set = cpu_set_t{};
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0)
    return {};
  auto out = std::vector<int>{};
  for (auto core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set))
      out.push_back(core);
  return out;
}

/// Restricts the calling thread to one core.
void use_core(int core) {
  auto set = cpu_set_t{};
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

/// Runs a body on the engine and returns the cores of its thread.
std::vector<int> cores_of_body(ss::engine& e) {
  auto seen = std::vector<int>{};
  auto g = ss::graph<numbers>{};
  g.add(a, [&](const numbers&) { seen = cores_of_this_thread(); });
  g.edge(ss::start, a);
  static_cast<void>(e.invoke(g.compile(), numbers{}));
  return seen;
}

/// Returns the cores of a thread that is confined to a set.
std::vector<int> cores_of(const superstep::core_set& set) {
  auto seen = std::vector<int>{};
  std::thread{[&] {
    set.confine_thread();
    seen = cores_of_this_thread();
  }}.join();
  return seen;
}

} // namespace cores_types

using namespace cores_types;

BOOST_AUTO_TEST_SUITE(cores)

BOOST_AUTO_TEST_CASE(bodies_use_all_cores_by_default) {
  auto e = ss::engine{};
  BOOST_TEST(!cores_of_this_thread().empty());
  BOOST_TEST(cores_of_body(e) == cores_of_this_thread(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(bodies_run_on_the_given_number_of_cores) {
  const auto before = cores_of_this_thread();
  BOOST_TEST(!before.empty());
  auto e = ss::engine{{.cores = 1}};
  BOOST_TEST(cores_of_body(e).size() == 1U);
  BOOST_TEST(cores_of_this_thread() == before, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(bodies_that_keep_their_thread_share_the_cores) {
  auto e = ss::engine{{.workers = 2, .cores = 1}};
  auto inside = door{};
  auto mutex = std::mutex{};
  auto seen = std::vector<std::vector<int>>{};
  auto g = ss::graph<numbers>{};
  g.add(a, [&](const numbers&) {
    {
      const auto lock = std::scoped_lock{mutex};
      seen.push_back(cores_of_this_thread());
    }
    inside.pass();
  });
  g.edge(ss::start, a);
  const auto graph = g.compile();
  auto first = background_run<numbers>{e, graph, numbers{}};
  auto second = background_run<numbers>{e, graph, numbers{}};
  auto third = background_run<numbers>{e, graph, numbers{}};
  inside.await_inside(3); // three threads: more than lanes
  inside.open();
  for (auto* run : {&first, &second, &third})
    BOOST_TEST(!run->result().error.has_value());
  for (const auto& one : seen)
    BOOST_TEST(one == seen.front(), boost::test_tools::per_element());
  BOOST_TEST(seen.front().size() == 1U);
}

BOOST_AUTO_TEST_CASE(engines_get_different_cores) {
  auto first = ss::engine{{.cores = 1}};
  auto second = ss::engine{{.cores = 1}};
  const auto is_different = cores_of_body(first) != cores_of_body(second);
  BOOST_TEST(is_different == (cores_of_this_thread().size() > 1));
}

/// Otherwise, processes that run side by side would share the first core.
BOOST_AUTO_TEST_CASE(first_core_is_that_of_the_process) {
  const auto all = cores_of_this_thread();
  if (all.size() < 2)
    return;
  const auto first = cores_of(superstep::core_set{1, all[0]}).front();
  const auto second = cores_of(superstep::core_set{1, all[1]}).front(); // one more was taken
  const auto at = std::find(all.begin(), all.end(), first) - all.begin();
  BOOST_TEST(second == all[(static_cast<std::size_t>(at) + 2) % all.size()]);
}

// With a sanitizer, a super-step takes so long that its bodies run as jobs on other threads.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Another thread would wait for the core, too.
BOOST_AUTO_TEST_CASE(lane_that_waits_for_its_core_keeps_its_thread) {
  constexpr auto body_time = std::chrono::microseconds{15};
  constexpr auto bodies = 20'000;
  auto e = ss::engine{{.workers = 1, .cores = 1}};
  const auto core = cores_of_body(e).front();
  auto is_over = std::atomic<bool>{false};
  auto others = std::vector<std::thread>(2);
  for (auto& other : others)
    other = std::thread{[&] {
      use_core(core);
      while (!is_over.load(std::memory_order_relaxed)) {
      }
    }};
  auto changes = 0;
  auto last = std::thread::id{};
  auto g = ss::graph<numbers>{};
  g.add(a, [&](const numbers& s) {
    if (std::exchange(last, std::this_thread::get_id()) != std::this_thread::get_id())
      ++changes;
    const auto clock = superstep::thread_clock::of_this_thread();
    for (const auto end = *clock.used() + body_time; *clock.used() < end;) {
    }
    return add_one(s);
  });
  g.edge(ss::start, a).edge(a, a);
  auto config = ss::run_config{};
  config.recursion_limit = bodies;
  BOOST_TEST(e.try_invoke(g.compile(), numbers{}, config).state.n == bodies);
  is_over = true;
  for (auto& other : others)
    other.join();
  // There are none on a quiet machine. When a virtual machine stops a thread, this looks like a
  // long body: there were up to 8 changes. Without the rule there are 170 to 210.
  BOOST_TEST(changes < 40);
}
#endif

BOOST_AUTO_TEST_CASE(more_cores_than_the_machine_has_limit_nothing) {
  auto e = ss::engine{{.workers = 1, .cores = 100'000}};
  BOOST_TEST(cores_of_body(e) == cores_of_this_thread(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

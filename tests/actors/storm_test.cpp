// SPDX-License-Identifier: Apache-2.0
// Everything at once: bodies of all kinds and lengths, exits and cancels from outside at any
// moment. Each body runs once, each run ends once, the sums are right.
#include "graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <random>

using namespace testing;

BOOST_AUTO_TEST_SUITE(storms)

namespace {

constexpr auto runs_of_a_storm = 300;

/// A body of 0 to 2 ms: in place, spinning, sleeping, suspended, forking or throwing.
ss::task<ss::update<numbers>> stormy(int kind, std::atomic<int>& bodies) {
  ++bodies;
  const auto length = std::chrono::microseconds{(kind * 37) % 2'000};
  switch (kind % 8) {
  case 0:
    std::this_thread::sleep_for(length);
    break;
  case 1: {
    const auto until = std::chrono::steady_clock::now() + length;
    while (std::chrono::steady_clock::now() < until) {
    }
    break;
  }
  case 2: {
    auto nap = ss::sleep_for{length};
    co_await nap;
    break;
  }
  case 3: {
    auto nap = ss::sleep_for{std::chrono::microseconds{300}};
    co_await nap;
    std::this_thread::sleep_for(length);
    auto again = ss::sleep_for{std::chrono::microseconds{100}};
    co_await again;
    break;
  }
  case 4: {
    auto forks = std::vector<ss::task<int>>{};
    for (auto i = 0; i < 3; ++i) {
      forks.push_back([](int which, std::chrono::microseconds l) -> ss::task<int> {
        if (which == 0)
          std::this_thread::sleep_for(l);
        auto nap = ss::sleep_for{l / 4};
        co_await nap;
        co_return 1;
      }(i, length));
    }
    const auto ended = co_await ss::when_all(std::move(forks));
    static_cast<void>(ended);
    break;
  }
  default:
    break;
  }
  co_return ss::update{ss::set<&numbers::total>(1)};
}

struct storm {
  std::atomic<int> bodies{0};
  std::atomic<int> ended{0};
  std::atomic<int> whole{0};
  std::promise<void> over;
};

void rage(std::uint32_t seed, std::size_t workers) {
  auto s = storm{};
  auto e = ss::engine{{.workers = workers}};
  auto g = ss::graph<numbers>{};
  g.add(worker, [&s](const int& i) { return stormy(i, s.bodies); });
  g.add(a, [](const numbers& x) { return ss::update{ss::set<&numbers::n>(x.n)}; });
  g.branch(ss::start, [](const numbers& x) {
    auto all = ss::destinations{};
    for (auto i = 0; i < 6; ++i)
      all.emplace_back(worker, x.n * 6 + i);
    return all;
  });
  g.edge(worker, a);
  const auto compiled = g.compile();
  auto random = std::mt19937{seed};
  auto handles = std::vector<ss::run_handle>{};
  for (auto i = 0; i < runs_of_a_storm; ++i) {
    auto config = ss::run_config{};
    if (i % 10 == 3)
      config.deadline = std::chrono::milliseconds{1};
    handles.push_back(e.submit(compiled, numbers{.n = i, .total = 0, .seen = {}}, config,
                               [&s](ss::run_result<numbers> r) {
                                 if (!r.error && r.state->total == 6)
                                   ++s.whole;
                                 if (++s.ended == runs_of_a_storm)
                                   s.over.set_value();
                               }));
    const auto& victim = handles[random() % handles.size()];
    if (random() % 8 == 0)
      victim.cancel();
    if (random() % 8 == 0) {
      const auto actors = e.debug().actors(victim);
      if (!actors.empty())
        actors[random() % actors.size()].actor.exit();
    }
  }
  s.over.get_future().get();
  BOOST_TEST(s.ended.load() == runs_of_a_storm);
  BOOST_TEST(s.whole.load() > runs_of_a_storm / 3,
             "seed " << seed << ": only " << s.whole.load() << " runs came through");
  BOOST_TEST(e.debug().live_runs() == 0U);
}

} // namespace

BOOST_AUTO_TEST_CASE(nothing_is_lost_on_one_two_and_four_lanes) {
  for (const auto workers : {1U, 2U, 4U}) {
    for (auto seed = 1U; seed <= 3; ++seed)
      rage(seed * 1'000 + workers, workers);
  }
}

BOOST_AUTO_TEST_SUITE_END()

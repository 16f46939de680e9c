// SPDX-License-Identifier: Apache-2.0
// Stress test: bodies of all kinds and durations run, while other threads send exits and cancels at
// any moment. Each body runs once, each run ends once, and the sums are correct.
#include "storm_bodies.hpp"

#include <boost/test/unit_test.hpp>

#include <random>

using namespace testing;

BOOST_AUTO_TEST_SUITE(storms)

namespace {

constexpr auto runs_of_a_storm = 300;

/// A body of 0 to 2 ms: in place, spinning, sleeping, suspended or forking.
ss::task<ss::update<numbers>> stormy(int kind, std::atomic<int>& bodies) {
  ++bodies;
  if (const auto way = kind % 8; way < ways_to_pass_time) {
    auto passing = pass_time(way, length_of_body(kind));
    co_await passing;
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
  const auto compiled = make_fan([&s](const int& i) { return stormy(i, s.bodies); });
  auto random = std::mt19937{seed};
  auto handles = std::vector<ss::run_handle>{};
  for (auto i = 0; i < runs_of_a_storm; ++i) {
    auto config = ss::run_config{};
    if (i % 10 == 3)
      config.deadline = std::chrono::milliseconds{1};
    handles.push_back(e.submit(compiled, numbers{.n = i, .total = 0, .seen = {}}, config,
                               [&s](ss::run_result<numbers> r) {
                                 if (!r.error && r.state.total == sends_of_a_run)
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

BOOST_AUTO_TEST_CASE(all_runs_end_despite_random_cancels_and_exits) {
  for (const auto workers : {1U, 2U, 4U}) {
    for (auto seed = 1U; seed <= 3; ++seed)
      rage(seed * 1'000 + workers, workers);
  }
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// A busy lane gives runs to an idle one. Handles, streams and deadlines of these runs still work.
#include "graphs.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <latch>
#include <vector>

using namespace testing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(sharing)

namespace {

constexpr auto runs = 8;

/// An engine with two lanes whose runs all start on one lane. The runs loop until stop() is called.
class crowded_lane {
public:
  /// @param options if they have a checkpointer, each run has a thread of its own: t0, t1, …
  explicit crowded_lane(ss::run_config config = {}, ss::compile_options options = {})
      : config_{std::move(config)} {
    config_.recursion_limit = 2'000'000'000;
    auto g = ss::graph<numbers>{};
    g.add(a, [](const numbers& s) { return ss::update{ss::set<&numbers::n>(s.n + 1)}; });
    g.add(b, [](const numbers&) { return ss::update{ss::set<&numbers::total>(1)}; });
    g.edge(ss::start, a).edge(a, b);
    g.branch(
        b,
        [this](const numbers&) { return stops_ ? ss::destination{ss::end} : ss::destination{a}; },
        {a, ss::end});
    const auto is_kept = options.checkpointer != nullptr;
    loop_ = g.compile(std::move(options));
    auto once = ss::graph<numbers>{};
    once.add(a, add_one).edge(ss::start, a);
    auto submitted = std::latch{1};
    // a callback starts its runs on its own lane
    engine_.submit(once.compile(), numbers{}, {}, [&](const ss::run_result<numbers>&) {
      for (auto i = 0; i < runs; ++i) {
        if (is_kept)
          config_.thread_id = thread_of(i);
        handles_.push_back(
            engine_.submit(*loop_, numbers{}, config_, [this, i](ss::run_result<numbers> r) {
              if (r.error && r.error->text.find("was not started") != std::string::npos)
                ++not_started;
              results_[static_cast<std::size_t>(i)] = std::move(r);
              ended_.count_down();
            }));
      }
      submitted.count_down();
    });
    submitted.wait();
  }
  crowded_lane(const crowded_lane&) = delete;
  crowded_lane& operator=(const crowded_lane&) = delete;

  /// Waits until a run was moved. Returns false if that takes too long.
  [[nodiscard]] bool waits_for_move() {
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (engine_.debug().moved_runs() == 0 && std::chrono::steady_clock::now() < until)
      std::this_thread::yield();
    return engine_.debug().moved_runs() > 0;
  }
  void stop() { stops_ = true; }
  [[nodiscard]] const std::vector<ss::run_handle>& handles() const { return handles_; }
  [[nodiscard]] ss::engine& engine() { return engine_; }
  [[nodiscard]] const ss::compiled_graph<numbers>& graph() const { return *loop_; }
  [[nodiscard]] static std::string thread_of(int i) { return "t" + std::to_string(i); }
  const std::vector<ss::run_result<numbers>>& results() {
    ended_.wait();
    return results_;
  }

  /// Counts the results, of all objects, that say that a run was not started.
  static inline std::atomic<int> not_started{0};

private:
  std::atomic<bool> stops_{false};
  ss::run_config config_;
  std::optional<ss::compiled_graph<numbers>> loop_;
  std::vector<ss::run_handle> handles_;
  std::vector<ss::run_result<numbers>> results_{runs};
  std::latch ended_{runs};
  ss::engine engine_{{.workers = 2}}; // last: its threads use the members above
};

/// Fails unless all runs end with an error.
void check_errors(crowded_lane& lane, ss::graph_errc code) {
  for (const auto& r : lane.results()) {
    BOOST_REQUIRE(r.error);
    BOOST_TEST((r.error->code == code));
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(idle_lane_takes_runs_of_busy_lane) {
  auto lane = crowded_lane{};
  BOOST_TEST(lane.waits_for_move());
  lane.stop();
  for (const auto& r : lane.results()) {
    BOOST_TEST(!r.error);
    BOOST_TEST(r.state.n > 0);
    BOOST_TEST(r.state.n == r.state.total);
    BOOST_TEST(r.stats.steps == 2 * r.state.n);
  }
  BOOST_TEST(lane.engine().debug().live_runs() == 0U);
}

BOOST_AUTO_TEST_CASE(handle_cancels_run_that_was_moved) {
  auto lane = crowded_lane{};
  BOOST_TEST(lane.waits_for_move());
  for (const auto& h : lane.handles())
    h.cancel();
  check_errors(lane, ss::graph_errc::cancelled);
}

BOOST_AUTO_TEST_CASE(handle_drains_run_that_was_moved) {
  auto lane = crowded_lane{};
  BOOST_TEST(lane.waits_for_move());
  for (const auto& h : lane.handles())
    h.drain("enough");
  check_errors(lane, ss::graph_errc::drained);
}

BOOST_AUTO_TEST_CASE(saved_thread_moves_with_its_run) {
  for (const auto when : {ss::durability::async, ss::durability::exit}) {
    auto config = ss::run_config{};
    config.thread.emplace().durability = when;
    auto options = ss::compile_options{};
    options.checkpointer = ss::memory_checkpointer();
    auto lane = crowded_lane{config, options};
    BOOST_TEST(lane.waits_for_move());
    lane.stop();
    const auto& all = lane.results();
    for (auto i = 0; i < runs; ++i) {
      const auto& r = all[static_cast<std::size_t>(i)];
      BOOST_TEST(!r.error);
      auto again = ss::run_config{};
      again.thread_id = crowded_lane::thread_of(i);
      const auto kept = lane.engine().get_state(lane.graph(), again);
      BOOST_TEST_REQUIRE(kept.values.has_value());
      BOOST_TEST(kept.values->n == r.state.n);
      // the lease was returned
      again.thread.emplace().on_busy = ss::busy_policy::refuse;
      const auto next =
          lane.engine().invoke(lane.graph(), ss::update{ss::set<&numbers::n>(1)}, again);
      BOOST_TEST(next.state.n == 2);
    }
  }
}

BOOST_AUTO_TEST_CASE(deadline_applies_to_run_that_was_moved) {
  auto config = ss::run_config{};
  config.deadline = 500ms;
  auto lane = crowded_lane{config};
  check_errors(lane, ss::graph_errc::deadline);
  BOOST_TEST(lane.engine().debug().moved_runs() > 0U);
}

BOOST_AUTO_TEST_CASE(step_timeout_applies_to_run_that_was_moved) {
  auto options = ss::compile_options{};
  options.step_timeout = 1h;
  auto lane = crowded_lane{{}, options};
  BOOST_TEST(lane.waits_for_move());
  for (const auto& h : lane.handles())
    h.drain("enough");
  check_errors(lane, ss::graph_errc::drained);
  BOOST_TEST(lane.engine().debug().live_runs() == 0U);
}

BOOST_AUTO_TEST_CASE(debug_finds_actors_of_run_that_was_moved) {
  auto lane = crowded_lane{};
  BOOST_TEST(lane.waits_for_move());
  for (const auto& h : lane.handles()) {
    const auto all = lane.engine().debug().actors(h);
    BOOST_REQUIRE(!all.empty());
    all.front().actor.exit(); // the coordinator
  }
  check_errors(lane, ss::graph_errc::actor_exited);
}

BOOST_AUTO_TEST_CASE(destroyed_engine_ends_runs_that_were_moved) {
  for (auto i = 0; i < 20; ++i) {
    auto lane = std::make_unique<crowded_lane>();
    BOOST_TEST(lane->waits_for_move());
  }
  auto config = ss::run_config{};
  config.thread.emplace().durability = ss::durability::exit;
  for (auto i = 0; i < 20; ++i) {
    auto options = ss::compile_options{};
    options.checkpointer = ss::memory_checkpointer();
    auto lane = std::make_unique<crowded_lane>(config, options);
    BOOST_TEST(lane->waits_for_move());
    lane.reset();
    for (auto n = 0; n < runs; ++n) // every run was saved at its end
      BOOST_TEST(!options.checkpointer->head({crowded_lane::thread_of(n), {}}).empty());
  }
  BOOST_TEST(crowded_lane::not_started.load() == 0); // all had done steps
}

BOOST_AUTO_TEST_SUITE_END()

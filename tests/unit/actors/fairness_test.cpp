// SPDX-License-Identifier: Apache-2.0
// A run with much to do must not delay other runs of its lane, nor its own deadline. The tests
// count the bodies that have run in the meantime, so that the load of the machine does not matter.
#include "graphs.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <latch>
#include <ostream>
#include <vector>

using namespace testing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(fairness)

namespace {

using std::chrono::steady_clock;

/// One lane, which no other thread takes over, so that its bodies run one after another.
ss::engine_options one_lane() {
  auto options = ss::engine_options{};
  options.workers = 1;
  options.watcher_tick = 30s;
  return options;
}

/// Counts the bodies of a run. The first of them submits another run, which notes the count when
/// its only body runs.
class race {
public:
  explicit race(ss::engine& e) : engine_{e} {
    auto g = ss::graph<numbers>{};
    g.add(a, [this](const numbers& s) {
      seen_ = counted_.load();
      return add_one(s);
    });
    g.edge(ss::start, a);
    other_ = g.compile();
  }
  void count() {
    if (counted_++ == 0)
      engine_.submit(*other_, numbers{}, {},
                     [this](const ss::run_result<numbers>&) { ended_.count_down(); });
  }
  /// Waits for the other run. Returns the number of bodies that have run before it.
  [[nodiscard]] int bodies_before() {
    ended_.wait();
    return seen_;
  }
  [[nodiscard]] int counted() const { return counted_; }

private:
  ss::engine& engine_;
  std::optional<ss::compiled_graph<numbers>> other_;
  std::atomic<int> counted_{0};
  std::atomic<int> seen_{0};
  std::latch ended_{1};
};

void work_for(std::chrono::nanoseconds time) {
  for (const auto until = steady_clock::now() + time; steady_clock::now() < until;) {
  }
}

/// The ways in which a run has many suspended bodies.
enum class wide { sends, forks, nested_runs };
std::ostream& operator<<(std::ostream& out, wide w) {
  return out << (w == wide::sends ? "sends" : w == wide::forks ? "forks" : "nested runs");
}

/// Returns a graph that suspends numbers::n bodies at a gate. `count` is called when one resumes.
ss::compiled_graph<numbers> gated(wide how, gate& at, std::function<void()> count) {
  auto g = ss::graph<numbers>{};
  if (how == wide::sends) {
    g.add(worker, [&at, count](const int&) -> ss::task<ss::update<numbers>> {
      auto passed = at.pass();
      co_await passed;
      count();
      co_return ss::update{ss::set<&numbers::total>(1)};
    });
    g.branch(ss::start, fan_out);
  } else if (how == wide::forks) {
    const auto fork = [&at, count](int one) -> ss::task<int> {
      auto passed = at.pass();
      co_await passed;
      count();
      co_return one;
    };
    g.add(a, [fork](const numbers& s) -> ss::task<ss::update<numbers>> {
      auto forks = std::vector<ss::task<int>>{};
      for (auto i = 0; i < s.n; ++i)
        forks.push_back(fork(1));
      auto all = ss::when_all(std::move(forks));
      const auto done = co_await all;
      co_return ss::update{ss::set<&numbers::total>(static_cast<int>(done.size()))};
    });
    g.edge(ss::start, a);
  } else {
    auto inner = ss::graph<numbers>{};
    inner.add(b, [&at, count](const numbers&) -> ss::task<ss::update<numbers>> {
      auto passed = at.pass();
      co_await passed;
      count();
      co_return ss::update{ss::set<&numbers::total>(1)};
    });
    inner.edge(ss::start, b);
    g.add(worker,
          [nested = inner.compile()](const int&, ss::runtime rt) -> ss::task<ss::update<numbers>> {
            auto running = rt.invoke(nested, numbers{});
            co_await running;
            co_return ss::update{ss::set<&numbers::total>(1)};
          });
    g.branch(ss::start, fan_out);
  }
  return g.compile();
}

} // namespace

BOOST_DATA_TEST_CASE(many_resumed_bodies_let_other_runs_continue,
                     boost::unit_test::data::make({wide::sends, wide::forks, wide::nested_runs}),
                     how) {
  constexpr auto bodies = 2'000;
  auto at = gate{};
  auto e = ss::engine{one_lane()};
  auto other = race{e};
  const auto suspends = gated(how, at, [&other] { other.count(); });
  auto opens = ss::graph<numbers>{};
  opens.add(a, [&at](const numbers&) { at.open(); }).edge(ss::start, a);
  auto held = background_run<numbers>{e, suspends, numbers{.n = bodies, .total = 0, .seen = {}}};
  at.await_arrivals(bodies);
  // on the lane, so that it finds all waits ended at once
  static_cast<void>(e.invoke(opens.compile(), numbers{}));
  BOOST_TEST(held.result().state.total == bodies);
  BOOST_TEST(other.bodies_before() < bodies / 10);
}

BOOST_AUTO_TEST_CASE(many_forks_let_other_runs_begin) {
  constexpr auto forks = 10'000;
  auto e = ss::engine{one_lane()};
  auto other = race{e};
  const auto fork = [&other](int one) -> ss::task<int> {
    other.count();
    co_return one;
  };
  auto g = ss::graph<numbers>{};
  g.add(a, [fork](const numbers&) -> ss::task<ss::update<numbers>> {
    auto all = std::vector<ss::task<int>>{};
    for (auto i = 0; i < forks; ++i)
      all.push_back(fork(1));
    auto running = ss::when_all(std::move(all));
    const auto done = co_await running;
    co_return ss::update{ss::set<&numbers::total>(static_cast<int>(done.size()))};
  });
  g.edge(ss::start, a);
  BOOST_TEST(e.invoke(g.compile(), numbers{}).state.total == forks);
  // The lane handles the requests of the forks in portions, and runs one body between two of them.
  BOOST_TEST(other.bodies_before() < 8);
}

BOOST_AUTO_TEST_CASE(wide_step_lets_other_runs_continue_after_turn_time) {
  constexpr auto bodies = 1'000; // fewer than engine_options::steps_per_turn
  auto e = ss::engine{one_lane()};
  auto other = race{e};
  auto g = ss::graph<numbers>{};
  g.add(worker, [&other](const int&) {
    other.count();
    work_for(50us);
    return ss::update{ss::set<&numbers::total>(1)};
  });
  g.branch(ss::start, fan_out);
  const auto out = e.invoke(g.compile(), numbers{.n = bodies, .total = 0, .seen = {}}).state;
  BOOST_TEST(out.total == bodies);
  BOOST_TEST(other.bodies_before() < bodies / 2);
}

BOOST_AUTO_TEST_CASE(deadline_ends_wide_step_early) {
  constexpr auto bodies = 50'000;
  auto e = ss::engine{one_lane()};
  auto ran = std::atomic<int>{0};
  auto g = ss::graph<numbers>{};
  g.add(worker, [&ran](const int&) {
    ++ran;
    work_for(12us);
    return ss::update{ss::set<&numbers::total>(1)};
  });
  g.branch(ss::start, fan_out);
  auto config = ss::run_config{};
  config.deadline = 50ms;
  const auto out = e.try_invoke(g.compile(), numbers{.n = bodies, .total = 0, .seen = {}}, config);
  BOOST_REQUIRE(out.error.has_value());
  BOOST_TEST(out.error->code == make_error_code(ss::graph_errc::deadline));
  BOOST_TEST(ran < bodies / 2);
}

BOOST_AUTO_TEST_SUITE_END()

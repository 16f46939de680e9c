// SPDX-License-Identifier: Apache-2.0
// Runs whose lane waits for the disk after each super-step, because it has no other run.
#include "forwarding_checkpointer.hpp"
#include "graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>

using namespace testing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(saving)

namespace {

/// A checkpointer on a slow disk.
class slow_checkpointer final : public forwarding_checkpointer {
public:
  explicit slow_checkpointer(std::chrono::milliseconds each) : each_{each} {}
  void put_now(const ss::thread_key& key, ss::checkpoint_ptr point) override {
    std::this_thread::sleep_for(each_);
    put(key, std::move(point));
  }

private:
  const std::chrono::milliseconds each_;
};

ss::run_config saved_at_each_step() {
  auto config = ss::run_config{};
  config.thread_id = "t";
  config.thread.emplace().durability = ss::durability::sync;
  return config;
}

/// Returns how often the threads of this process have begun to wait.
long waits_of_threads() {
  auto sum = 0L;
  for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
    auto status = std::ifstream{task.path() / "status"};
    for (auto name = std::string{}; status >> name;)
      if (auto count = 0L; name == "voluntary_ctxt_switches:" && status >> count)
        sum += count;
  }
  return sum;
}

} // namespace

BOOST_AUTO_TEST_CASE(lane_that_saves_is_polled_less_often) {
  constexpr auto save_time = 400ms;
  constexpr auto steps = 2;
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).add(b, add_one).edge(ss::start, a).edge(a, b);
  const auto graph = g.compile({.checkpointer = std::make_shared<slow_checkpointer>(save_time)});
  auto options = ss::engine_options{};
  options.workers = 1;
  options.watcher_tick = 500us;
  auto e = ss::engine{options};
  const auto before = waits_of_threads();
  BOOST_TEST(e.invoke(graph, numbers{}, saved_at_each_step()).state.n == 2);
  const auto ticks = steps * save_time / options.watcher_tick;
  BOOST_TEST(waits_of_threads() - before < ticks / 2);
}

BOOST_AUTO_TEST_CASE(lane_is_taken_over_from_body_that_blocks_after_saves) {
  auto has_run = std::latch{1};
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).edge(ss::start, a).edge(a, b).edge(a, c);
  g.add(b, [&has_run](const numbers&) {
    has_run.wait();
    return ss::update<numbers>{};
  });
  g.add(c, [&has_run](const numbers&) {
    has_run.count_down();
    return ss::update<numbers>{};
  });
  const auto graph = g.compile({.checkpointer = std::make_shared<slow_checkpointer>(20ms)});
  auto e = ss::engine{{.workers = 1}};
  BOOST_TEST(e.invoke(graph, numbers{}, saved_at_each_step()).state.n == 1);
}

BOOST_AUTO_TEST_SUITE_END()

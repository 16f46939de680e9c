// SPDX-License-Identifier: Apache-2.0
// Runs that take a thread over from another run (busy_policy::take_over), and what becomes of the
// writes of the other run.
#include "forwarding_checkpointer.hpp"
#include "graphs.hpp"
#include "threads/thread_run.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>

using namespace testing;

BOOST_AUTO_TEST_SUITE(take_over)

namespace {

/// A checkpointer that calls a function before each load, and counts the checkpoints of nested
/// runs.
class watched_checkpointer final : public forwarding_checkpointer {
public:
  std::optional<ss::saved_checkpoint> load(const ss::thread_key& key, std::string_view id,
                                           const ss::layout_ptr& as) override {
    if (const auto act = std::exchange(before_load, nullptr))
      act();
    return forwarding_checkpointer::load(key, id, as);
  }
  void put(const ss::thread_key& key, ss::checkpoint_ptr point) override {
    if (!key.ns.empty())
      ++nested_puts;
    forwarding_checkpointer::put(key, std::move(point));
  }

  std::function<void()> before_load; ///< called once
  std::atomic<int> nested_puts{0};
};

ss::run_config on_thread_t(ss::busy_policy how = ss::busy_policy::wait) {
  auto config = ss::run_config{};
  config.thread_id = "t";
  config.thread.emplace().on_busy = how;
  return config;
}

} // namespace

/// A run checks its lease and then stores a checkpoint. Between the two, another run may take the
/// thread over and read the newest id.
BOOST_AUTO_TEST_CASE(late_checkpoint_of_other_run_is_followed_by_next_id) {
  const auto checkpointer = std::make_shared<watched_checkpointer>();
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).edge(ss::start, a);
  const auto graph = g.compile({.checkpointer = checkpointer});
  auto e = ss::engine{{.workers = 1}};
  e.invoke(graph, numbers{}, on_thread_t());
  const auto layout = ss::detail::program_of(graph)->layout();
  auto late_id = std::string{};
  checkpointer->before_load = [&] {
    auto late = *checkpointer->load({"t", {}}, {}, layout)->checkpoint;
    late.parent = std::exchange(late.id, ss::next_checkpoint_id(late.id, {}));
    late_id = late.id;
    checkpointer->put({"t", {}}, std::make_shared<ss::checkpoint>(std::move(late)));
  };
  const auto ended =
      e.invoke(graph, ss::update{ss::set<&numbers::n>(5)}, on_thread_t(ss::busy_policy::take_over));
  BOOST_TEST(ended.state.n == 6);
  const auto all = checkpointer->list({"t", {}}, {}, layout);
  auto has_late = false;
  for (auto i = std::size_t{0}; i + 1 < all.size(); ++i) {
    BOOST_TEST(all[i].checkpoint->parent == all[i + 1].checkpoint->id);
    has_late = has_late || all[i].checkpoint->id == late_id;
  }
  BOOST_TEST(has_late);
}

namespace {

/// Returns a graph whose node runs another graph as a subgraph.
ss::compiled_graph<numbers> around(const ss::compiled_graph<numbers>& inner,
                                   ss::compile_options options = {}) {
  auto g = ss::graph<numbers>{};
  g.add(
      b, inner, [](const numbers& s) { return s; },
      [](const numbers& s) { return ss::update{ss::set<&numbers::n>(s.n)}; });
  g.edge(ss::start, b);
  return g.compile(std::move(options));
}

/// Takes a thread over while a nested run of its run waits, and then lets this run continue. Checks
/// that the nested runs store nothing afterwards, and that the error of the run is the conflict.
void check_take_over_of_nested_run(int depth, ss::durability when) {
  const auto checkpointer = std::make_shared<watched_checkpointer>();
  auto held = gate{};
  auto is_first = std::atomic<bool>{true};
  auto inside = ss::graph<numbers>{};
  inside.add(a, [&](const numbers& s) -> ss::task<ss::update<numbers>> {
    const auto n = s.n;
    if (is_first.exchange(false)) {
      auto waiting = held.pass();
      co_await waiting;
    }
    co_return ss::update{ss::set<&numbers::n>(n + 1)};
  });
  inside.edge(ss::start, a);
  auto nested = inside.compile();
  for (auto i = 1; i < depth; ++i)
    nested = around(nested);
  const auto graph = around(nested, {.checkpointer = checkpointer});
  const auto config = [&](ss::busy_policy how) {
    auto made = on_thread_t(how);
    made.thread->durability = when;
    return made;
  };
  auto e = ss::engine{{.workers = 2}};
  auto first = std::promise<ss::run_result<numbers>>{};
  e.submit(graph, numbers{}, config(ss::busy_policy::wait),
           [&](ss::run_result<numbers> r) { first.set_value(std::move(r)); });
  held.await_arrivals(1);
  const auto second =
      e.invoke(graph, ss::update{ss::set<&numbers::n>(10)}, config(ss::busy_policy::take_over));
  BOOST_TEST(second.state.n == 11);
  const auto before = checkpointer->nested_puts.load();
  held.open();
  const auto ended = first.get_future().get();
  BOOST_REQUIRE(ended.error);
  BOOST_TEST((ended.error->code == ss::checkpoint_errc::conflict), ended.error->text);
  BOOST_TEST(ended.error->text.find("was taken over by another run") != std::string::npos,
             ended.error->text);
  BOOST_TEST(checkpointer->nested_puts.load() == before);
}

} // namespace

BOOST_AUTO_TEST_CASE(run_fails_with_conflict_that_nested_run_has_found) {
  for (const auto depth : {1, 2})
    for (const auto when : {ss::durability::async, ss::durability::sync, ss::durability::exit})
      check_take_over_of_nested_run(depth, when);
}

BOOST_AUTO_TEST_CASE(next_id_is_greater_than_last_id) {
  BOOST_TEST(ss::next_checkpoint_id("", "") == "00000001");
  BOOST_TEST(ss::next_checkpoint_id("00000009", "") == "00000010");
  BOOST_TEST(ss::next_checkpoint_id("", "00000004.") == "00000004.00000001");
  BOOST_TEST(ss::next_checkpoint_id("00000004.00000001", "00000004.") == "00000004.00000002");
  BOOST_TEST(ss::next_checkpoint_id("00000004.00000007", "00000005.") == "00000005.00000001");
  // the checkpoint 7 of the parent was never stored
  BOOST_TEST(ss::next_checkpoint_id("00000007.00000003", "00000005.") == "00000007.00000004");
}

BOOST_AUTO_TEST_SUITE_END()

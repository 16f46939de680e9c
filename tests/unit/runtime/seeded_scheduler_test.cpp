// SPDX-License-Identifier: Apache-2.0
// Determinism of runs under random schedules of generated graphs.
#include "runtime/generated_graph.hpp"
#include "runtime/seeded_scheduler.hpp"

#include <boost/test/unit_test.hpp>

#include <iostream>
#include <map>
#include <set>

using namespace superstep::test;

BOOST_AUTO_TEST_SUITE(seeded_scheduler)

/// The definition of determinism: the state, the ending and the trace are equal byte by byte,
/// whatever the order in which tasks end, and whether or not the run was killed or failed before
/// and started again.
BOOST_AUTO_TEST_CASE(run_result_does_not_depend_on_schedule) {
  constexpr auto graphs = std::uint64_t{320};
  constexpr auto orders_wanted = std::size_t{32};
  constexpr auto schedules_max = std::uint64_t{100};
  auto schedules = std::size_t{0};
  auto fewest = ~std::size_t{0};
  auto all_orders = std::size_t{0};
  auto endings = std::map<std::string, std::size_t>{};
  for (auto graph = std::uint64_t{1}; graph <= graphs; ++graph) {
    const auto s = generate_graph(graph);
    auto scheduler = superstep::test::seeded_scheduler{s};
    const auto first = scheduler.run(0);
    ++endings[first.ending.substr(0, first.ending.find_first_of(":0123456789"))];
    auto orders = std::set<std::uint64_t>{first.order};
    for (auto seed = std::uint64_t{1}; seed <= schedules_max && orders.size() < orders_wanted;
         ++seed) {
      const auto other = scheduler.run(seed);
      ++schedules;
      if (other.text() != first.text()) {
        BOOST_ERROR("graph " << graph << " under schedule " << seed
                             << " does not end as it does under schedule 0\n-- schedule 0:\n"
                             << first.text() << "-- schedule " << seed << ":\n"
                             << other.text());
        return;
      }
      BOOST_TEST(other.snapshots_changed == 0u, "graph "
                                                    << graph << ", schedule " << seed
                                                    << ": a snapshot that was held has changed");
      orders.insert(other.order);
    }
    BOOST_TEST(orders.size() >= 30u,
               "graph " << graph << " has only " << orders.size() << " orders");
    fewest = std::min(fewest, orders.size());
    all_orders += orders.size();
  }
  std::cout << graphs << " graphs, " << schedules << " schedules, " << all_orders
            << " distinct completion orders, at least " << fewest << " of each graph; ended:";
  for (const auto& [ending, count] : endings)
    std::cout << ' ' << ending << '=' << count;
  std::cout << std::endl;
  // The test would be useless if all graphs failed or never ended.
  BOOST_TEST(endings["done"] >= graphs / 4);
  BOOST_TEST(endings["out of steps"] >= graphs / 20);
  BOOST_TEST(endings["failed in step "] > 0u);
  BOOST_TEST(endings["refused"] > 0u);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// The code of docs/actors.md.
//! [includes]
#include <superstep/actors/engine.hpp>
#include <superstep/interop/actor_client.hpp>
#include <superstep/interop/graph_actor.hpp>
#include <superstep/runtime/graph.hpp>

#include <caf/all.hpp>
//! [includes]

#include <boost/test/unit_test.hpp>

#include <iostream>
#include <string>

namespace guide_actors {

//! [prices]
namespace ss = superstep;

struct order {
  std::string item{};
  double price = 0;
};
BOOST_DESCRIBE_STRUCT(order, (), (item, price))

caf::behavior price_list(caf::event_based_actor*) {
  return {[](const std::string& item) { return item == "lamp" ? 30.0 : 10.0; }};
}
//! [prices]

//! [relay]
caf::behavior relay(caf::event_based_actor* self, const caf::actor& run) {
  self->monitor(run);
  self->set_down_handler([self](const caf::down_msg&) { self->quit(); }); // the run has ended
  return {[=](ss::write_atom write, const std::string& channel, const std::string& text) {
    return self->delegate(run, write, channel, text);
  }};
}
//! [relay]

} // namespace guide_actors

BOOST_AUTO_TEST_SUITE(guide)

BOOST_AUTO_TEST_CASE(node_asks_actor_and_graph_is_actor) {
  using namespace guide_actors;
  //! [node]
  auto caf_config = caf::actor_system_config{};
  auto system = caf::actor_system{caf_config};
  auto engine = ss::engine{}; // destroyed before the actor system

  const auto prices = system.spawn(price_list);
  const auto request_of = [](const order& o) { return o.item; };
  const auto update_of = [](double price) { return ss::set<&order::price>(price); };
  auto g = ss::graph<order>{};
  g.add("price", ss::node_actor(prices, request_of, update_of));
  g.edge(ss::start, "price");
  const auto graph = g.compile();
  const auto done = engine.invoke(graph, order{.item = "lamp"}).state; // done.price == 30
  //! [node]
  BOOST_TEST(done.price == 30);

  //! [graph]
  auto price = 0.0;
  const auto shop = ss::spawn_graph(system, engine, graph);
  auto self = caf::scoped_actor{system};
  self->request(shop, caf::infinite, ss::graph_call<order>{order{.item = "rug"}})
      .receive([&](const ss::run_result<order>& result) { price = result.state.price; }, // 10
               [](const caf::error& failed) { std::cerr << ss::text_of(failed) << '\n'; });
  //! [graph]
  BOOST_TEST(price == 10);
}

BOOST_AUTO_TEST_CASE(relay_writes_to_run) {
  using namespace guide_actors;
  auto config = caf::actor_system_config{};
  auto system = caf::actor_system{config};
  auto engine = ss::engine{};
  auto g = ss::graph<order>{};
  g.add("wait", [&](const order&, ss::runtime rt) -> ss::task<void> {
    caf::anon_send(system.spawn(relay, ss::coordinator(rt)), ss::write_atom::value,
                   std::string{"item"}, std::string{R"("lamp")"});
    auto waiting = ss::next_write<std::string>(rt, "item");
    static_cast<void>(co_await waiting);
  });
  g.edge(ss::start, "wait");
  BOOST_TEST(engine.invoke(g.compile(), order{}).state.item == "lamp");
}

BOOST_AUTO_TEST_SUITE_END()

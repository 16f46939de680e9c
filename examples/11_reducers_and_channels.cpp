// SPDX-License-Identifier: Apache-2.0
// Two ways to combine the writes of one step: a reducer of the program, and the rule of a channel.
// The first graph has a struct as its state, the second is built from single channels.
#include <superstep/superstep.hpp>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

namespace ss = superstep;

struct offer {
  std::string shop{};
  int price = 0;
};
BOOST_DESCRIBE_STRUCT(offer, (), (shop, price))

struct cheapest { // a reducer: folds one write into the value of the field
  void operator()(offer& best, offer&& next) const {
    if (best.shop.empty() || next.price < best.price)
      best = std::move(next);
  }
};

struct search {
  offer best{};
  std::vector<std::string> shops{}; // collects the items that are written in all steps
  using reducers = ss::reducers<ss::by<&search::best, cheapest>,
                                ss::by<&search::shops, ss::accumulating_topic_rule>>;
};
BOOST_DESCRIBE_STRUCT(search, (), (best, shops))

const auto offers = std::vector<offer>{{"Corner", 30}, {"Market", 18}, {"Station", 45}};

int main() {
  auto engine = ss::engine{};
  auto visit = ss::node<offer>{"visit"};
  auto g = ss::graph<search>{};
  g.branch(ss::start, [=](const search&) { return ss::send_each(visit, offers); }, {visit});
  g.add(visit, [](const offer& o) {
    return ss::update{ss::set<&search::best>(o), ss::set<&search::shops>({o.shop})};
  });
  auto found = engine.invoke(g.compile(), search{}).state;
  std::cout << found.best.shop << " is the cheapest of " << found.shops.size() << " shops\n";

  auto c = ss::channel_graph{};
  auto prices = c.topic<int>("prices");                        // the items of one step
  auto lowest = c.reduce<int>("lowest", std::ranges::min, 99); // starts at 99
  auto compare = c.add("compare", ss::reads{prices}, [=](const std::vector<int>& all) {
    return ss::step_result{.update = {lowest <<= std::ranges::min(all)}};
  });
  c.edge(ss::start, compare);
  auto done = engine.invoke(c.compile(), {prices <<= {30, 18, 45}});
  std::cout << ss::get(lowest, done.state) << " euros\n";
}

// SPDX-License-Identifier: Apache-2.0
// Mistakes that must not compile. MISUSE=0 compiles; every other number must be rejected.
#include <superstep/actors/stream.hpp>
#include <superstep/runtime/channel_graph.hpp>
#include <superstep/runtime/graph.hpp>
#include <superstep/threads/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace ss = superstep;

struct chat {
  std::string messages;
  int calls = 0;
  using reducers = ss::reducers<ss::by<&chat::calls, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(chat, (), (messages, calls))

struct other {
  int calls = 0;
};
BOOST_DESCRIBE_STRUCT(other, (), (calls))

struct stranger {
  int visits = 0;
};
BOOST_DESCRIBE_STRUCT(stranger, (), (visits))

struct bent_calls {
  std::string calls;
};
BOOST_DESCRIBE_STRUCT(bent_calls, (), (calls))

struct three_arguments {
  void operator()(int&, int&&, int) const {}
};
struct bent {
  int n = 0;
  using reducers = ss::reducers<ss::by<&bent::n, three_arguments>>;
};
BOOST_DESCRIBE_STRUCT(bent, (), (n))

struct numbers {
  int n = 0;
  std::size_t count = 0;
  double price = 0;
  bool is_set = false;
  std::optional<int> maybe;
};
BOOST_DESCRIBE_STRUCT(numbers, (), (n, count, price, is_set, maybe))

struct tool_call {
  std::string name;
};

constexpr auto agent = ss::node<chat>{"agent"};
constexpr auto tools = ss::node<tool_call>{"tools"};
constexpr auto item = ss::node<int>{"item"};

std::string make_name();

void use(ss::graph<chat>& g);
void use(ss::graph<chat>& g) {
#if MISUSE == 0
  static_assert(ss::run_input_of<other, chat> && ss::run_input_of<chat, chat>);
  static_assert(ss::edit_of<ss::update<chat>, chat>);
  static_cast<void>(ss::project<other>(chat{}));
  g.add(agent, [](const chat&) { return ss::update{ss::set<&chat::calls>(1)}; });
  g.add(tools, [](const tool_call& t) { return ss::update{ss::set<&chat::messages>(t.name)}; });
  g.edge(ss::start, agent);
  g.branch(agent, [](const chat&) { return ss::destination{tools, tool_call{"t"}}; });
  g.branch(agent, [](const chat&) { return true; }, {{true, agent}, {false, "agent"}});
  g.branch(agent, [](const chat&) { return make_name(); }, {{"left", agent}, {"right", ss::end}});
  auto n = 3;
  auto more = ss::update{ss::set<&numbers::n>(n), ss::set<&numbers::count>(1), // a constant fits
                         ss::set<&numbers::price>(n), ss::set<&numbers::is_set>(true),
                         ss::set<&numbers::maybe>(4)};
  more.add(ss::set<&numbers::n>({})).add(ss::overwrite<&numbers::maybe>(std::nullopt));
  more.add(ss::set<&numbers::maybe>(std::optional<int>{n}));
  static_cast<void>(ss::destination{item, 3});
  auto channels = ss::channel_graph{};
  const auto total = channels.last_value<std::int64_t>("total");
  static_cast<void>(total <<= n);
  const auto name = make_name();
  static_cast<void>(ss::destination{name});
  static_cast<void>(ss::node<chat>{name});
#elif MISUSE == 1  // a field that does not exist
  g.add(agent, [](const chat&) { return ss::update{ss::set<&chat::cals>(1)}; });
#elif MISUSE == 2  // a value of the wrong type
  g.add(agent,
        [](const chat&) { return ss::update{ss::set<&chat::messages>(std::vector<int>{1})}; });
#elif MISUSE == 3  // a Send whose payload is not the input of its node
  g.branch(agent, [](const chat&) { return ss::destination{tools, chat{}}; });
#elif MISUSE == 4  // an update of another graph's state
  g.add(agent, [](const chat&) { return ss::update{ss::set<&other::calls>(1)}; });
#elif MISUSE == 5  // a misspelled node
  g.edge(ss::start, agnet);
#elif MISUSE == 6  // a node that returns neither an update nor a command
  g.add(agent, [](const chat&) { return 1; });
#elif MISUSE == 7  // a node body that takes another input than its node
  g.add(tools, [](const chat&) { return ss::update{ss::set<&chat::calls>(1)}; });
#elif MISUSE == 8  // a router whose result names no destination
  g.branch(agent, [](const chat&) { return 1; });
#elif MISUSE == 9  // a reducer for a field that is not one
  static_cast<void>(ss::graph<bent>{});
#elif MISUSE == 10 // a path map whose labels are not the router's results
  g.branch(agent, [](const chat&) { return true; }, {{std::string{"yes"}, agent}});
#elif MISUSE == 11 // a checkpointer of another type
  static_cast<void>(g.compile({.checkpointer = std::make_shared<int>(1)}));
#elif MISUSE == 12 // an input with a field that the state does not have
  static_assert(ss::run_input_of<stranger, chat>);
#elif MISUSE == 13 // a part of a state whose field has another type there
  static_cast<void>(ss::project<bent_calls>(chat{}));
#elif MISUSE == 14 // a fraction for an integer
  static_cast<void>(ss::set<&numbers::n>(12.7));
#elif MISUSE == 15 // a fraction for an optional integer
  static_cast<void>(ss::set<&numbers::n>(make_name().size()));
#elif MISUSE == 16 // a constant that the field cannot hold
  static_cast<void>(ss::set<&numbers::count>(-1));
#elif MISUSE == 17 // text for a flag
  static_cast<void>(ss::set<&numbers::is_set>("no"));
#elif MISUSE == 18 // a fraction for an integer that may be absent
  static_cast<void>(ss::overwrite<&numbers::maybe>(1.5));
#elif MISUSE == 19 // a fraction in a Send of an integer
  static_cast<void>(ss::destination{item, 0.5});
#elif MISUSE == 20 // a fraction for a channel of integers
  auto channels = ss::channel_graph{};
  static_cast<void>(channels.last_value<int>("total") <<= 0.5);
#elif MISUSE == 21 // a destination that views a temporary
  static_cast<void>(ss::destination{make_name()});
#elif MISUSE == 22 // a node that views a temporary
  static_cast<void>(ss::node<chat>{make_name() + "!"});
#elif MISUSE == 23 // a whole state as a state update
  static_assert(ss::edit_of<chat, chat>);
#elif MISUSE == 24 // a context without a type
  auto config = ss::run_config{};
  config.context = std::shared_ptr<const void>{};
#elif MISUSE == 25 // a projection of another graph's state as the input of a subgraph
  const auto child = ss::graph<numbers>{}.compile();
  g.add(
      agent, child, [](const chat&) { return stranger{}; },
      [](const numbers&) { return ss::update<chat>{}; });
#elif MISUSE == 26 // a pointer into the state of a temporary
  static_cast<void>(ss::state_snapshot{}.as<chat>());
#elif MISUSE == 27 // a pointer into the message of a temporary
  static_cast<void>(ss::message_event{}.get_if<std::string>());
#elif MISUSE == 28 // texts as labels of a router that returns a bool
  g.branch(agent, [](const chat&) { return true; }, {{"no", agent}, {"yes", agent}});
#endif
}

// SPDX-License-Identifier: Apache-2.0
// Mistakes that the compiler refuses. MISUSE=0 compiles; every other number must not.
#include <superstep/runtime/graph.hpp>

#include <functional>
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

struct tool_call {
  std::string name;
};

constexpr auto agent = ss::node<chat>{"agent"};
constexpr auto tools = ss::node<tool_call>{"tools"};

void use(ss::graph<chat>& g);
void use(ss::graph<chat>& g) {
#if MISUSE == 0
  static_cast<void>(ss::input_writes<chat>(other{1}));
  static_cast<void>(ss::part<other>(chat{}));
  g.add(agent, [](const chat&) { return ss::update{ss::set<&chat::calls>(1)}; });
  g.add(tools, [](const tool_call& t) { return ss::update{ss::set<&chat::messages>(t.name)}; });
  g.edge(ss::start, agent);
  g.branch(agent, [](const chat&) { return ss::destination{tools, tool_call{"t"}}; });
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
#elif MISUSE == 9  // a rule for a field that is no reducer
  static_cast<void>(ss::graph<bent>{});
#elif MISUSE == 10 // a map of labels that are not what the router says
  g.branch(agent, [](const chat&) { return true; }, {{std::string{"yes"}, agent}});
#elif MISUSE == 11 // a checkpointer that is no saver
  static_cast<void>(g.compile({.checkpointer = std::make_shared<int>(1)}));
#elif MISUSE == 12 // an input with a field that the state does not have
  static_cast<void>(ss::input_writes<chat>(stranger{}));
#elif MISUSE == 13 // a part of a state whose field has another type there
  static_cast<void>(ss::part<bent_calls>(chat{}));
#endif
}

// SPDX-License-Identifier: Apache-2.0
// Mistakes whose compile errors must contain a sentence that states what to do. check_mistakes
// compiles this file and compares the errors with the texts after "expect:".
#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/runtime/graph.hpp>
#include <superstep/tools/make_tool.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace ss = superstep;

struct order {
  int amount = 0;
  std::uint8_t level = 0;
  bool is_paid = false;
  std::string status;
};
BOOST_DESCRIBE_STRUCT(order, (), (amount, level, is_paid, status))

struct basket {
  int total = 0;
};
BOOST_DESCRIBE_STRUCT(basket, (), (total))

struct conversation {
  ss::message_list messages;
};
BOOST_DESCRIBE_STRUCT(conversation, (), (messages))

struct inheriting : basket {
  int amount = 0;
};
BOOST_DESCRIBE_STRUCT(inheriting, (basket), (amount))

struct listing_inherited : basket {
  int amount = 0;
};
BOOST_DESCRIBE_STRUCT(listing_inherited, (), (amount, total))

struct inheriting_part : basket {};
BOOST_DESCRIBE_STRUCT(inheriting_part, (basket), ())

struct move_only {
  std::unique_ptr<int> total;
};
BOOST_DESCRIBE_STRUCT(move_only, (), (total))

struct unassignable {
  const int total = 0;
};
BOOST_DESCRIBE_STRUCT(unassignable, (), (total))

struct odd_topic {
  int total = 0;
  using reducers = ss::reducers<ss::by<&odd_topic::total, ss::topic_rule>>;
};
BOOST_DESCRIBE_STRUCT(odd_topic, (), (total))

struct copied_total {
  void operator()(int into, int more) const { into += more; }
};

struct constant_total {
  void operator()(const int& into, int&& more, ss::id_source&) const { more += into; }
};

struct copying_rule {
  int total = 0;
  using reducers = ss::reducers<ss::by<&copying_rule::total, copied_total>>;
};
BOOST_DESCRIBE_STRUCT(copying_rule, (), (total))

struct constant_rule {
  int total = 0;
  using reducers = ss::reducers<ss::by<&constant_rule::total, constant_total>>;
};
BOOST_DESCRIBE_STRUCT(constant_rule, (), (total))

struct undescribed {
  std::string city;
};

struct odd_args {
  std::set<std::string> cities;
};
BOOST_DESCRIBE_STRUCT(odd_args, (), (cities))

struct city_args {
  std::string city;
};
BOOST_DESCRIBE_STRUCT(city_args, (), (city))

struct odd_result {
  int n = 0;
};

struct foreign_rule {
  int amount = 0;
  using reducers = ss::reducers<ss::by<&order::amount, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(foreign_rule, (), (amount))

struct undescribed_rule {
  int amount = 0;
  int total = 0;
  using reducers = ss::reducers<ss::by<&undescribed_rule::total, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(undescribed_rule, (), (amount))

struct second_rule {
  int amount = 0;
  using reducers = ss::reducers<ss::by<&second_rule::amount, std::plus<>>,
                                ss::by<&second_rule::amount, ss::ephemeral_rule>>;
};
BOOST_DESCRIBE_STRUCT(second_rule, (), (amount))

void rules() {
  // expect: `reducers` has a rule for a field that the state does not describe
  ss::graph<foreign_rule>{};
  // expect: `reducers` has a rule for a field that the state does not describe
  ss::graph<undescribed_rule>{};
  // expect: `reducers` has two rules for a field
  ss::graph<second_rule>{};
}

void inherited_fields(ss::engine& e, const ss::compiled_graph<basket>& graph) {
  // expect: a state or projection cannot inherit fields
  ss::graph<inheriting>{};
  // expect: a state or projection cannot inherit fields
  ss::graph<listing_inherited>{};
  // expect: a state or projection cannot inherit fields
  e.invoke(graph, inheriting_part{});
}

void values_of_fields() {
  // expect: a state must be default-constructible, copyable and assignable
  ss::graph<move_only>{};
  // expect: a state must be default-constructible, copyable and assignable
  ss::graph<unassignable>{};
  // expect: a topic is a field of the type std::vector
  ss::graph<odd_topic>{};
  // expect: a reducer must be callable as void(T& into, T&& more)
  ss::graph<copying_rule>{};
  // expect: a reducer must be callable as void(T& into, T&& more)
  ss::graph<constant_rule>{};
}

void copies(const ss::graph<order>& g) {
  // expect: use of deleted function
  auto copy = g;
}

void numbers(const char* text) {
  // expect: a number with a fraction does not fit this field
  (void)ss::set<&order::amount>(12.7);
  // expect: text does not fit this field
  (void)ss::set<&order::is_paid>("no");
  // expect: text does not fit this field
  (void)ss::set<&order::amount>(text);
  // expect: the constant does not fit the type of the field
  (void)ss::set<&order::level>(300);
}

void tools() {
  // expect: the first parameter of a tool's function must be a described struct
  (void)ss::make_tool("a", "", [](const undescribed& a) { return a.city; });
  // expect: the first parameter of a tool's function must be a described struct
  (void)ss::make_tool("b", "", [](const std::string& city) { return city; });
  // expect: has no single parameter list
  (void)ss::make_tool("c", "", [](const auto& a) { return a.city; });
  // expect: the arguments of a tool must be a described struct
  (void)ss::make_tool<undescribed>("d", "", [](const undescribed& a) { return a.city; });
  // expect: a tool argument must be a string, number, bool
  (void)ss::make_tool("e", "", [](const odd_args&) { return "x"; });
  // expect: a tool's function must take (const Args&) or (const Args&, const tool_context&)
  (void)ss::make_tool("f", "", [](const city_args& a, int) { return a.city; });
  // expect: A tool reaches the run through its tool_context: context.environment->run
  (void)ss::make_tool("h", "", [](const city_args& a, const ss::runtime&) { return a.city; });
  // expect: a tool's function returns text, a number
  (void)ss::make_tool("g", "", [](const city_args&) { return odd_result{}; });
  // expect: a tool's function must return what the model reads
  (void)ss::make_tool("i", "", [](const city_args&) {});
  // expect: a tool's function must return what the model reads
  (void)ss::make_tool("j", "", [](const city_args&) -> ss::task<void> { co_return; });
}

ss::task<ss::update<order>> coroutine_body(const order&, const ss::runtime&) noexcept {
  co_return ss::update<order>{};
}

void bodies(ss::graph<order>& g, const ss::compiled_graph<basket>& child) {
  // expect: a body takes its input as (const Input&)
  g.add("a", [](order&) { return ss::set<&order::amount>(1); });
  // expect: a body takes its input as (const Input&)
  g.add("b", [](const basket&) { return ss::set<&order::amount>(1); });
  // expect: a body takes its input as (const Input&)
  g.add("c", [](const order&, int) { return ss::set<&order::amount>(1); });
  // expect: a body returns the changes of the state, not a whole state
  g.add("d", [](order o) { return o; });
  // expect: a body returns nothing, update<State>
  g.add("e", [](const order&) { return 1; });
  // expect: a body returns nothing, update<State>
  g.add("f", [](const order&) { return ss::set<&basket::total>(1); });
  // expect: a body takes its input as (const Input&)
  g.add(ss::node<basket>{"g"}, [](const order&) { return ss::set<&order::amount>(1); });
  // expect: a graph with another state needs two functions
  g.add("h", child);
  // expect: to_child takes (const Input&)
  g.add(
      "i", child, [](const order&) { return 1; },
      [](const basket& b) { return ss::set<&order::amount>(b.total); });
  // expect: from_child takes (const Child&)
  g.add(
      "j", child, [](const order&) { return basket{}; }, [](const basket& b) { return b.total; });
  // expect: a body takes its input as (const Input&)
  g.on_error("k", [](int) {});
  // expect: a coroutine takes runtime by value
  g.add("n", [](const order&, const ss::runtime&) -> ss::task<> { co_return; });
  // expect: a coroutine takes runtime by value
  g.add("o", coroutine_body);
  // expect: a router returns a destination
  g.branch("l", [](const order&) { return 1; });
  // expect: needs a map from these labels to nodes
  g.branch("p", [](const order& o) { return o.is_paid; }, {"a", "b"});
  // expect: needs a map from these labels to nodes
  g.branch("q", [](const order& o) { return o.status; }, {"a", ss::end});
  // expect: needs a map from these labels to nodes
  g.branch("r", [](const order& o) { return o.is_paid; });
  // expect: a router takes (const State&)
  g.branch("m", [](const basket&) { return ss::end; });
}

void uncompiled(ss::graph<order>& g, ss::graph<basket>& child, ss::engine& e) {
  // expect: compile the subgraph: add(name, subgraph.compile())
  g.add("a", g);
  // expect: compile the subgraph: add(name, subgraph.compile())
  g.add(
      "b", child, [](const order&) { return basket{}; },
      [](const basket& b) { return ss::set<&order::amount>(b.total); });
  // expect: compile the graph: invoke(graph.compile(), input)
  e.invoke(g, order{});
  // expect: compile the graph: try_invoke(graph.compile(), input)
  (void)e.try_invoke(g, order{});
  // expect: compile the graph: submit(graph.compile()
  e.submit(g, order{}, {}, [](const ss::run_result<order>&) {});
  // expect: compile the graph: stream(graph.compile()
  (void)e.stream(g, order{});
}

void inputs(const ss::compiled_graph<order>& g, ss::engine& e) {
  // expect: the graph does not accept this input
  e.invoke(g, "two lamps");
  // expect: the graph does not accept this input
  (void)e.try_invoke(g, undescribed{}, {.thread_id = "7"});
  // expect: the graph does not accept this input
  e.submit(g, basket{}, {}, [](const ss::run_result<order>&) {});
  // expect: the graph does not accept this input
  e.stream(g, ss::human_message("two lamps"));
  // expect: the graph does not accept this input
  e.stream(g, city_args{}, ss::stream_mode::values, {.thread_id = "7"});
}

void agents() {
  // expect: the state of an agent is a described struct with a field message_list messages
  (void)ss::create_agent<order>({.model = "openai:gpt-4o-mini"});
  // expect: without a reducer, each step would replace the conversation
  (void)ss::create_agent<conversation>({.model = "openai:gpt-4o-mini"});
  // expect: a prompt function takes (const State&, const runtime&)
  (void)ss::create_agent({.model = "openai:gpt-4o-mini", .prompt = [](int) { return "hi"; }});
  // expect: a prompt function returns a message_list
  (void)ss::create_agent(
      {.model = "openai:gpt-4o-mini", .prompt = [](const ss::messages_state&) { return "hi"; }});
  // expect: a function that chooses the model takes (const State&, const runtime&)
  (void)ss::create_agent({.model = [](int) { return nullptr; }});
  // expect: a hook takes (const State&, runtime)
  (void)ss::create_agent({.model = "openai:gpt-4o-mini", .pre_model_hook = [](int) {}});
  // expect: a hook takes (const State&, runtime)
  (void)ss::middleware_hook<order>{[](int) {}};
}

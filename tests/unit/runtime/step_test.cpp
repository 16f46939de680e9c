// SPDX-License-Identifier: Apache-2.0
// The pure step function: order of writes, activation, joins, routers, snapshots and errors.
#include "runtime/pure_run.hpp"

#include <superstep/runtime/graph.hpp>

#include <boost/test/unit_test.hpp>

using namespace superstep;
using superstep::test::pure_run;

BOOST_AUTO_TEST_SUITE(step)

namespace {

using lines = std::vector<std::string>;

struct append {
  void operator()(lines& into, lines&& more) const {
    for (auto& m : more)
      into.push_back(std::move(m));
  }
};

struct journal {
  lines log;
  int last = 0;
  std::string mark;
  lines latest;
  using reducers =
      superstep::reducers<by<&journal::log, append>, by<&journal::mark, ephemeral_rule>,
                          by<&journal::latest, topic_rule>>;
};
BOOST_DESCRIBE_STRUCT(journal, (), (log, last, mark, latest))

constexpr auto worker = node<int>{"worker"};

update<journal> say(std::string what) {
  return update{set<&journal::log>({std::move(what)})};
}

/// Adds a node that writes its name.
void add_echo(graph<journal>& g, std::string_view name) {
  g.add(node<journal>{name}, [name](const journal&) { return say(std::string{name}); });
}
graph<journal> echoes(std::initializer_list<std::string_view> names) {
  auto g = graph<journal>{};
  for (const auto n : names)
    add_echo(g, n);
  return g;
}
destination at(std::string_view name) {
  return name;
}

const journal& state_of(const pure_run& r) {
  return static_cast<const struct_block<journal>&>(*r.state.state()).state;
}
std::string joined(const lines& l) {
  auto text = std::string{};
  for (const auto& s : l)
    text += (text.empty() ? "" : " ") + s;
  return text;
}
superstep::write_list no_input() {
  return detail::input_writes(update<journal>{});
}

} // namespace

BOOST_AUTO_TEST_CASE(writes_apply_by_node_name_then_send_order) {
  auto g = echoes({"zed", "b", "a"});
  g.add(worker, [](const int& n) { return say("w" + std::to_string(n)); });
  g.add(node<journal>{"first"}, [](const journal&) {
    return command<journal>{{}, {{worker, 2}, {worker, 1}, at("zed"), {worker, 3}}};
  });
  g.edge(start, at("first")).edge(at("first"), at("b")).edge(at("first"), at("a"));
  const auto table = detail::program_of(g.compile());
  for (const auto reversed : {false, true}) {
    auto run = pure_run{table};
    run.reversed = reversed;
    BOOST_CHECK(run.finish(no_input()) == next_step::done);
    BOOST_TEST(joined(state_of(run).log) == "a b zed w2 w1 w3");
    // Tasks are created in another order: Sends first, as in LangGraph.
    BOOST_TEST(run.steps == (lines{"first", "worker#0 worker#1 worker#2 a b zed"}),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(node_with_several_incoming_edges_runs_once) {
  auto g = echoes({"a", "b", "c"});
  g.edge(start, at("a")).edge(start, at("b")).edge(at("a"), at("c")).edge(at("b"), at("c"));
  auto run = pure_run{detail::program_of(g.compile())};
  static_cast<void>(run.finish(no_input()));
  BOOST_TEST(joined(state_of(run).log) == "a b c");
}

BOOST_AUTO_TEST_CASE(edge_after_several_sends_fires_once) {
  auto g = echoes({"after"});
  g.add(worker, [](const int& n) { return say(std::to_string(n)); });
  g.branch(start, [](const journal&) { return destinations{{worker, 1}, {worker, 2}}; });
  g.edge(worker, at("after"));
  auto run = pure_run{detail::program_of(g.compile())};
  static_cast<void>(run.finish(no_input()));
  BOOST_TEST(run.steps == (lines{"worker#0 worker#1", "after"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(join_waits_for_all_sources_each_time) {
  auto g = echoes({"a", "b", "b2", "c"});
  g.edge(start, at("a")).edge(start, at("b")).edge(at("b"), at("b2"));
  g.edge({at("a"), at("b2")}, at("c"));
  g.branch(at("c"), [](const journal& s) {
    return s.log.size() < 8 ? destinations{at("a"), at("b")} : destinations{};
  });
  auto run = pure_run{detail::program_of(g.compile())};
  BOOST_CHECK(run.finish(no_input()) == next_step::done);
  BOOST_TEST(run.steps == (lines{"a b", "b2", "c", "a b", "b2", "c"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(join_and_edge_trigger_common_node_once) {
  auto g = echoes({"a", "b", "c"});
  g.edge(start, at("a")).edge(start, at("b"));
  g.edge({at("a"), at("b")}, at("c")).edge(at("b"), at("c"));
  auto run = pure_run{detail::program_of(g.compile())};
  static_cast<void>(run.finish(no_input()));
  BOOST_TEST(run.steps == (lines{"a b", "c"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(run_stops_if_step_limit_equals_chain_length) {
  auto make = [] {
    auto g = echoes({"a", "b", "c"});
    g.edge(start, at("a")).edge(at("a"), at("b")).edge(at("b"), at("c"));
    return detail::program_of(g.compile());
  };
  auto enough = pure_run{make(), 4};
  BOOST_CHECK(enough.finish(no_input()) == next_step::done);
  auto too_few = pure_run{make(), 3};
  BOOST_CHECK(too_few.finish(no_input()) == next_step::out_of_steps);
  BOOST_TEST(joined(state_of(too_few).log) == "a b c"); // the state of the last step is kept
}

BOOST_AUTO_TEST_CASE(branch_from_start_sees_the_input) {
  auto g = echoes({"even", "odd"});
  g.branch(start, [](const journal& s) { return s.last % 2 == 0 ? at("even") : at("odd"); });
  auto run = pure_run{detail::program_of(g.compile())};
  static_cast<void>(run.finish(detail::input_writes(update{set<&journal::last>(3)})));
  BOOST_TEST(joined(state_of(run).log) == "odd");
}

BOOST_AUTO_TEST_CASE(router_sees_writes_of_own_node_only) {
  auto seen = std::make_shared<std::string>();
  auto g = echoes({"a", "b"});
  g.branch(at("b"), [seen](const journal& s) {
    *seen = joined(s.log);
    return destinations{};
  });
  g.edge(start, at("a")).edge(start, at("b"));
  auto run = pure_run{detail::program_of(g.compile())};
  static_cast<void>(run.finish(detail::input_writes(update{set<&journal::log>({"in"})})));
  BOOST_TEST(*seen == "in b");
  BOOST_TEST(joined(state_of(run).log) == "in a b");
}

BOOST_AUTO_TEST_CASE(state_computed_for_routers_becomes_next_state) {
  for (const auto keep_writes : {false, true}) {
    auto seen = std::make_shared<const journal*>();
    auto g = echoes({"a"});
    g.branch(at("a"), [seen](const journal& s) {
      *seen = &s;
      return destinations{};
    });
    g.edge(start, at("a"));
    auto run = pure_run{detail::program_of(g.compile())};
    run.keep_writes = keep_writes;
    run.start(no_input());
    run.advance();
    BOOST_TEST(*seen == &state_of(run));
    BOOST_TEST(joined(state_of(run).log) == "a");
    BOOST_TEST(run.state.changes().size() == 1u);
  }
}

BOOST_AUTO_TEST_CASE(snapshot_never_changes_while_held) {
  auto g = echoes({"a", "b"});
  g.edge(start, at("a")).edge(at("a"), at("b"));
  auto run = pure_run{detail::program_of(g.compile())};
  run.start(no_input());
  const auto before = state_view{run.state.state()};
  run.advance();
  BOOST_TEST(before.get() != run.state.state().get());
  BOOST_TEST((static_cast<const struct_block<journal>&>(*before).state.log.empty()));
  const auto* const alone = run.state.state().get();
  run.advance(); // no snapshot holds the state any more, so it is changed in place
  BOOST_TEST(alone == run.state.state().get());
}

BOOST_AUTO_TEST_CASE(ephemeral_and_topic_values_expire_after_one_step) {
  auto g = graph<journal>{};
  auto seen = std::make_shared<lines>();
  const auto look = [seen](const journal& s) { seen->push_back(s.mark + '/' + joined(s.latest)); };
  g.add(node<journal>{"a"}, [look](const journal& s) {
    look(s);
    return update{set<&journal::mark>("m"), set<&journal::latest>({"x", "y"})};
  });
  g.add(node<journal>{"b"}, look);
  g.add(node<journal>{"c"}, look);
  g.edge(start, at("a")).edge(at("a"), at("b")).edge(at("b"), at("c"));
  auto run = pure_run{detail::program_of(g.compile())};
  static_cast<void>(run.finish(detail::input_writes(update{set<&journal::mark>("in")})));
  BOOST_TEST(*seen == (lines{"in/", "m/x y", "/"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(field_without_reducer_rejects_two_writes_per_step) {
  auto g = graph<journal>{};
  for (const auto* name : {"a", "b"})
    g.add(node<journal>{name}, [](const journal&) { return update{set<&journal::last>(1)}; });
  g.edge(start, at("a")).edge(start, at("b"));
  auto run = pure_run{detail::program_of(g.compile())};
  run.start(no_input());
  BOOST_CHECK_EXCEPTION(run.advance(), std::system_error, [](const auto& e) {
    return e.code() == make_error_code(channel_errc::invalid_update) &&
           std::string_view{e.what()}.find("At key 'last': Can receive only one value per step.") !=
               std::string_view::npos;
  });
}

BOOST_AUTO_TEST_CASE(run_after_reset_is_independent_of_earlier_runs) {
  auto g = echoes({"a", "b", "c"});
  g.edge(start, at("a")).edge(start, at("b")).edge({at("a"), at("b")}, at("c"));
  auto run = pure_run{detail::program_of(g.compile())};
  run.start(no_input()); // left unfinished
  for (auto i = 0; i < 2; ++i) {
    run.state.reset(run.table, id_source{"run"}, 25);
    run.steps.clear();
    static_cast<void>(run.finish(no_input()));
    BOOST_TEST(run.steps == (lines{"a b", "c"}), boost::test_tools::per_element());
    BOOST_TEST(joined(state_of(run).log) == "a b c");
  }
}

struct bad_target {
  const char* name;
  destination to;
  const char* text;
};
const auto bad_targets = std::vector<bad_target>{
    {"an unknown node", at("nobody"), "graph 'graph' has no node 'nobody' to go to"},
    {"a Send to the end", {node<int>{detail::end_node}, 1}, "a Send cannot go to END"},
    {"a worker without an input", at("worker"),
     "node 'worker' is activated by Sends only: send it an input"},
    {"a worker with an input of another type",
     {node<double>{"worker"}, 1.0},
     "the input of a Send to node 'worker' is not of the type that the node takes"},
};

BOOST_AUTO_TEST_CASE(branch_to_invalid_target_is_an_error) {
  for (const auto& sample : bad_targets) {
    auto g = graph<journal>{};
    g.add(worker, [](const int&) {});
    g.branch(start, [to = sample.to](const journal&) { return to; });
    auto run = pure_run{detail::program_of(g.compile())};
    BOOST_TEST_CONTEXT(sample.name)
    BOOST_CHECK_EXCEPTION(static_cast<void>(run.finish(no_input())), graph_error,
                          [&](const auto& e) { return std::string_view{e.what()} == sample.text; });
  }
}

BOOST_AUTO_TEST_CASE(ignore_unknown_targets_skips_unknown_branch_targets) {
  auto g = echoes({"a"});
  g.edge(start, at("a")).branch(at("a"), [](const journal&) {
    return destinations{at("nobody"), at(end)};
  });
  auto run =
      pure_run{detail::program_of(g.compile({.name = "lenient", .ignore_unknown_targets = true}))};
  BOOST_CHECK(run.finish(no_input()) == next_step::done);
}

BOOST_AUTO_TEST_SUITE_END()

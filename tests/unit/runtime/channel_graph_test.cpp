// SPDX-License-Identifier: Apache-2.0
// Graphs built with channel handles: bodies, routers, channel kinds and checks.
#include "runtime/pure_run.hpp"

#include <superstep/runtime/channel_graph.hpp>

#include <boost/test/unit_test.hpp>

using namespace superstep;
using superstep::test::pure_run;

BOOST_AUTO_TEST_SUITE(graph_of_channel_handles)

namespace {

using lines = std::vector<std::string>;
struct append {
  void operator()(lines& into, lines&& more) const {
    into.insert(into.end(), more.begin(), more.end());
  }
};
task<int> later(int n) {
  co_return n;
}

} // namespace

BOOST_AUTO_TEST_CASE(bodies_receive_values_of_read_channels) {
  auto g = channel_graph{};
  const auto log = g.reduce<lines>("log", append{});
  const auto sum = g.reduce<int>("sum", std::plus<>{}, 100);
  const auto last = g.last_value<int>("last");
  const auto flag = g.last_value<bool>("flag", true);
  const auto work = g.worker<int>("work", [=](const int& n, runtime rt) {
    return step_result{{sum <<= n, log <<= {"w" + std::to_string(rt.task_index())}}};
  });
  const auto close =
      g.add("close", reads{sum, last, flag}, [=](int s, std::optional<int> l, bool f) {
        return step_result{
            {log <<= {std::to_string(s) + (l ? "!" : "?") + (f ? "t" : "f")}, last <<= s}};
      });
  const auto open =
      g.add("open", reads{last}, [=](const std::optional<int>& l, const run_config& c) {
        return step_result{{log <<= {c.run_id + std::to_string(l.value_or(0))}},
                           {{work, 1}, {work, 2}, close}};
      });
  g.edge(start, open).edge(work, close);
  const auto graph = g.compile();
  auto run = pure_run{detail::program_of(graph)};
  BOOST_CHECK(run.finish(detail::adapter_of(graph).input({log <<= {"in"}, last <<= 7})) ==
              next_step::done);
  BOOST_TEST(get(log, *run.state.state()) == (lines{"in", "run7", "100!t", "w0", "w1", "103!t"}),
             boost::test_tools::per_element());
  BOOST_TEST(*get(last, *run.state.state()) == 103);
  struct {
    state_ptr state;
  } const result{run.state.state()};
  BOOST_TEST(get(sum, result) == 103);
}

BOOST_AUTO_TEST_CASE(coroutine_and_void_bodies_run_in_graph_order) {
  auto g = channel_graph{};
  const auto n = g.last_value<int>("n", 1);
  const auto a = g.add("a", reads{n}, [=](const int& v, runtime rt) -> task<step_result> {
    const auto more = co_await later(static_cast<int>(rt.step()));
    auto r = step_result{};
    r.update.push_back(n <<= v + more);
    co_return r;
  });
  const auto b = g.add("b", reads{}, [] {});
  const auto c = g.add("c", reads{n}, [](const int&) -> task<void> { co_await later(1); });
  g.edge(start, a).edge(a, b).edge(a, c);
  auto run = pure_run{detail::program_of(g.compile())};
  static_cast<void>(run.finish({}));
  BOOST_TEST(get(n, *run.state.state()) == 2);
  BOOST_TEST(run.steps == (lines{"a", "b c"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(routers_see_writes_of_their_node) {
  auto g = channel_graph{};
  const auto n = g.reduce<int>("n", std::plus<>{});
  const auto a = g.add("a", reads{}, [=] { return step_result{{n <<= 1}}; });
  g.edge(start, a);
  g.branch(a, reads{n}, [=](int v) { return v < 4 ? destination{a} : destination{end}; }, {a, end});
  auto run = pure_run{detail::program_of(g.compile())};
  static_cast<void>(run.finish({}));
  BOOST_TEST(get(n, *run.state.state()) == 4);
  BOOST_TEST(run.table->mermaid().find("a -.-> __end__") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(ephemeral_values_expire_and_overwrite_replaces_list) {
  auto g = channel_graph{};
  const auto seen = g.reduce<lines>("seen", append{});
  const auto mail = g.topic<std::string>("mail");
  const auto note = g.ephemeral<std::string>("note");
  const auto a = g.add("a", reads{}, [=] {
    return step_result{{mail <<= {"m"}, note <<= "n", seen <<= {"a"}}};
  });
  const auto b = g.add("b", reads{}, [=] { return step_result{{mail <<= {"k"}}}; });
  const auto look = [=](const lines& m, const std::optional<std::string>& n) {
    return step_result{{seen <<= {std::to_string(m.size()) + n.value_or("-")}}};
  };
  const auto c = g.add("c", reads{mail, note}, look);
  const auto d = g.add("d", reads{mail, note}, look);
  const auto e = g.add("e", reads{}, [=] { return step_result{{overwrite(seen, {"e"})}}; });
  const auto before = std::make_shared<lines>();
  g.edge(start, a).edge(start, b).edge({a, b}, c).edge(c, d);
  g.branch(d, reads{seen}, [=](const lines& s) {
    *before = s;
    return destination{e};
  });
  auto run = pure_run{detail::program_of(g.compile())};
  static_cast<void>(run.finish({}));
  BOOST_TEST(*before == (lines{"a", "2n", "0-"}), boost::test_tools::per_element());
  BOOST_TEST(get(seen, *run.state.state()) == lines{"e"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(handles_of_another_graph_are_rejected) {
  auto elsewhere = channel_graph{};
  const auto theirs = elsewhere.last_value<int>("n");
  auto g = channel_graph{};
  const auto n = g.last_value<std::string>("n");
  const auto is_told = [](const graph_error& e) {
    return std::string_view{e.what()}.find("handle belongs to another graph") !=
           std::string_view::npos;
  };
  BOOST_CHECK_EXCEPTION(g.add("a", reads{theirs}, [](const std::optional<int>&) {}), graph_error,
                        is_told);
  const auto a = g.add("b", reads{n}, [=](const auto&) { return step_result{{theirs <<= 1}}; });
  g.edge(start, a);
  const auto graph = g.compile();
  BOOST_CHECK_EXCEPTION(static_cast<void>(detail::adapter_of(graph).input({theirs <<= 1})),
                        graph_error, is_told);
  auto run = pure_run{detail::program_of(graph)};
  BOOST_CHECK_EXCEPTION(static_cast<void>(run.finish({})), graph_error, is_told);
}

BOOST_AUTO_TEST_CASE(compiled_graph_outlives_builder_and_rejects_invalid_send) {
  auto make = [] {
    auto g = channel_graph{};
    const auto a = g.add("a", reads{}, [] { return step_result{{}, {{node<int>{"a"}, 1}}}; });
    g.edge(start, a);
    return g.compile();
  };
  auto run = pure_run{detail::program_of(make())};
  BOOST_CHECK_EXCEPTION(static_cast<void>(run.finish({})), graph_error, [](const auto& e) {
    return std::string_view{e.what()} == "node 'a' reads channels, so a Send to it cannot have an "
                                         "input: leave out the input, or add the node "
                                         "with worker()";
  });
}

BOOST_AUTO_TEST_CASE(compiled_graph_takes_no_further_channels) {
  auto g = channel_graph{};
  const auto n = g.last_value<int>("n", 1);
  const auto a = g.add("a", reads{n}, [=](int v) { return step_result{{n <<= v + 1}}; });
  g.edge(start, a);
  const auto graph = g.compile();
  BOOST_CHECK_THROW(static_cast<void>(g.last_value<std::string>("late")), compile_error);
  auto run = pure_run{detail::program_of(graph)};
  static_cast<void>(run.finish({}));
  BOOST_TEST(get(n, *run.state.state()) == 2);
}

BOOST_AUTO_TEST_SUITE_END()

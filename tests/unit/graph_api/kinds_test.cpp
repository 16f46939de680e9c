// SPDX-License-Identifier: Apache-2.0
// Kinds of channels that struct fields and channel handles can declare, over several steps.
#include "graph_api/json_runs.hpp"

#include <superstep/runtime/channel_graph.hpp>
#include <superstep/runtime/graph.hpp>

#include <boost/test/unit_test.hpp>

// A named namespace, because g++ 12 warns about coroutine frames over types without linkage.
namespace graph_api_kinds {

struct kinds {
  int any = 0;
  int untracked = 0;
  std::string seen;
  using reducers = superstep::reducers<superstep::by<&kinds::any, superstep::any_value_rule>,
                                       superstep::by<&kinds::untracked, superstep::untracked_rule>,
                                       superstep::by<&kinds::seen, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(kinds, (), (any, untracked, seen))

} // namespace graph_api_kinds

using namespace graph_api;
using graph_api_kinds::kinds;

BOOST_AUTO_TEST_SUITE(channel_kinds)

namespace {

constexpr auto a = ss::node<kinds>{"a"};
constexpr auto b = ss::node<kinds>{"b"};
constexpr auto look = ss::node<kinds>{"look"};
constexpr auto again = ss::node<kinds>{"again"};

ss::update<kinds> tell(const kinds& s) {
  return ss::update{
      ss::set<&kinds::seen>(std::to_string(s.any) + '/' + std::to_string(s.untracked) + ' ')};
}

} // namespace

BOOST_AUTO_TEST_CASE(any_value_keeps_last_write_for_one_step) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<kinds>{};
  g.add(a, [](const kinds&) { return ss::update{ss::set<&kinds::any>(1)}; });
  g.add(b, [](const kinds&) { return ss::update{ss::set<&kinds::any>(2)}; });
  g.add(look, tell).add(again, tell);
  g.edge(ss::start, a).edge(ss::start, b).edge({a, b}, look).edge(look, again);
  BOOST_TEST(e.invoke(g.compile(), kinds{}).state.seen == "2/0 0/0 ");
}

BOOST_AUTO_TEST_CASE(untracked_field_loses_its_value_between_runs) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<kinds>{};
  g.add(a, [](const kinds&) { return ss::update{ss::set<&kinds::untracked>(7)}; });
  g.add(look, tell).add(again, tell).sequence({ss::start, a, look, again});
  auto options = kept();
  options.interrupt_before = {"again"};
  const auto graph = g.compile(options);
  BOOST_TEST(e.try_invoke(graph, kinds{}, on("t")).state.seen == "0/7 ");
  BOOST_TEST(e.try_invoke(graph, ss::resume(), on("t")).state.seen == "0/7 0/0 ");
}

BOOST_AUTO_TEST_CASE(untracked_channel_handle_passes_value_to_next_step) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::channel_graph{};
  const auto scratch = g.untracked<int>("scratch");
  const auto out = g.last_value<int>("out", 0);
  const auto first =
      g.add("first", ss::reads{}, [=] { return ss::step_result{.update = {scratch <<= 3}}; });
  const auto second = g.add("second", ss::reads{scratch}, [=](const std::optional<int>& n) {
    return ss::step_result{.update = {out <<= n.value_or(-1)}};
  });
  g.sequence({ss::start, first, second});
  const auto table = g.compile();
  const auto done = e.try_invoke(table, {});
  BOOST_TEST(ss::get(out, done) == 3);
}

BOOST_AUTO_TEST_SUITE_END()

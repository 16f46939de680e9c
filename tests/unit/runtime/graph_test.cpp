// SPDX-License-Identifier: Apache-2.0
// Graphs over structs: parameters, results and exceptions of node bodies.
#include "runtime/pure_run.hpp"

#include <superstep/base/await.hpp>
#include <superstep/runtime/graph.hpp>

#include <boost/test/unit_test.hpp>

using namespace superstep;
using superstep::test::pure_run;

// A named namespace, because g++ 12 warns about coroutine frames over types without linkage.
namespace graph_test {

struct tally {
  int n = 0;
  std::string said;
  using reducers = superstep::reducers<by<&tally::n, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(tally, (), (n, said))

constexpr auto a = node<tally>{"a"};
constexpr auto b = node<tally>{"b"};

const tally& state_of(const pure_run& r) {
  return static_cast<const struct_block<tally>&>(*r.state.state()).state;
}
/// Runs a graph with this single body, starting with n = 1.
template <class F>
tally run_alone(F body) {
  auto g = graph<tally>{};
  g.add(a, std::move(body)).edge(start, a);
  auto run = pure_run{detail::program_of(g.compile())};
  static_cast<void>(run.finish(detail::input_writes(tally{1, "in"}).writes));
  return state_of(run);
}
update<tally> add(std::int64_t n) {
  return update{set<&tally::n>(static_cast<int>(n))};
}

task<int> later(int n) {
  co_return n;
}
task<update<tally>> coroutine_body(const tally& s, runtime rt) {
  const auto n = co_await later(s.n * 10);
  co_return add(n + rt.step());
}
task<command<tally>> coroutine_command(const tally&) {
  auto c = command<tally>{add(5), {}};
  co_return c;
}
task<void> coroutine_of_nothing(const tally&) {
  co_return;
}
int member_calls(const run_config& c) {
  return static_cast<int>(c.recursion_limit);
}

} // namespace graph_test

using namespace graph_test;

BOOST_AUTO_TEST_SUITE(graph_of_a_struct)

BOOST_AUTO_TEST_CASE(body_accepts_config_and_runtime_in_any_combination) {
  BOOST_TEST(run_alone([](const tally& s) { return add(s.n); }).n == 2);
  BOOST_TEST(run_alone([](const tally&, const run_config& c) { return add(member_calls(c)); }).n ==
             26);
  BOOST_TEST(run_alone([](const tally&, runtime rt) { return add(rt.remaining_steps()); }).n == 25);
  BOOST_TEST(run_alone([](const tally&, const runtime& rt) { return add(rt.step()); }).n == 2);
  BOOST_TEST(run_alone([](const tally&, const run_config& c, runtime rt) {
               return add(member_calls(c) + rt.step());
             }).n == 27);
  BOOST_TEST(run_alone([](const tally&, const runtime& rt, const run_config& c) {
               return add(member_calls(c) + rt.step());
             }).n == 27);
}

BOOST_AUTO_TEST_CASE(update_or_command_returned_by_body_is_applied) {
  BOOST_TEST(run_alone([](const tally&) {}).n == 1);
  BOOST_TEST(run_alone([](const tally&) { return update<tally>{}; }).n == 1);
  BOOST_TEST(run_alone([](const tally&) {
               return update{set<&tally::n>(3), set<&tally::said>("out")};
             }).said == "out");
  BOOST_TEST(run_alone([](const tally&) { return update{overwrite<&tally::n>(3)}; }).n == 3);
  BOOST_TEST(run_alone([](const tally&) {
               return command<tally>{add(3), {destination{end}}};
             }).n == 4);
}

BOOST_AUTO_TEST_CASE(result_of_coroutine_body_is_applied) {
  BOOST_TEST(run_alone(coroutine_body).n == 12);
  BOOST_TEST(run_alone(coroutine_command).n == 6);
  BOOST_TEST(run_alone(coroutine_of_nothing).n == 1);
  BOOST_TEST(run_alone([by = 4](const tally&) -> task<update<tally>> { // stored, so it may capture
               const auto n = co_await later(by);
               co_return add(n);
             })
                 .n == 5);
}

BOOST_AUTO_TEST_CASE(command_updates_state_and_selects_next_node) {
  auto g = graph<tally>{};
  g.add(a, [](const tally&) { return command<tally>{add(1), {b}}; });
  g.add(b, [](const tally& s) { return add(s.n * 10); });
  g.edge(start, a);
  auto run = pure_run{detail::program_of(g.compile())};
  static_cast<void>(run.finish(detail::input_writes(tally{}).writes));
  BOOST_TEST(run.steps == (std::vector<std::string>{"a", "b"}), boost::test_tools::per_element());
  BOOST_TEST(state_of(run).n == 11);
}

BOOST_AUTO_TEST_CASE(runtime_reports_node_and_task_index) {
  auto seen = std::make_shared<std::string>();
  auto g = graph<tally>{};
  static constexpr auto w = node<int>{"w"};
  g.add(w, [seen](const int& n, runtime rt) {
    *seen +=
        std::string{rt.node()} + std::to_string(rt.task_index()) + '=' + std::to_string(n) + ' ';
  });
  g.branch(start, [](const tally&, const run_config& c) {
    return destinations{{w, static_cast<int>(c.metadata.size())}, {w, 9}};
  });
  auto run = pure_run{detail::program_of(g.compile())};
  static_cast<void>(run.finish(detail::input_writes(tally{}).writes));
  BOOST_TEST(*seen == "w0=1 w1=9 ");
}

BOOST_AUTO_TEST_CASE(body_exception_reaches_the_caller) {
  BOOST_CHECK_THROW(run_alone([](const tally&) { throw std::domain_error{"no"}; }),
                    std::domain_error);
  BOOST_CHECK_THROW(run_alone([](const tally&) -> task<void> {
                      co_await later(1);
                      throw std::domain_error{"no"};
                    }),
                    std::domain_error);
}

BOOST_AUTO_TEST_SUITE_END()

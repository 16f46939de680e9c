// SPDX-License-Identifier: Apache-2.0
// A lane reuses its internal records for later runs. No data of one run may reach another.
#include "graphs.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/runtime/json_graph.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

using namespace testing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(records)

namespace {

namespace json = ss::json;

ss::json_command to_the_parent() {
  auto command = ss::json_command{};
  command.update = json::object{{"log", json::array{"x"}}};
  command.to_parent = true;
  return command;
}

/// Graphs of one node whose body sends a command to a parent that does not exist, one for each kind
/// of body.
ss::compiled_json_graph orphan(std::string_view kind) {
  auto g = ss::json_graph{};
  g.channel("log", "append");
  if (kind == "function") {
    g.add("a", [](const json::value&) { return to_the_parent(); });
  } else if (kind == "coroutine that does not wait") {
    g.add("a", [](const json::value&) -> ss::task<ss::json_command> { co_return to_the_parent(); });
  } else if (kind == "coroutine that waits") {
    g.add("a", [](const json::value&) -> ss::task<ss::json_command> {
      auto nap = ss::sleep_for{1us};
      co_await nap;
      co_return to_the_parent();
    });
  } else { // two siblings
    g.add("a", [](const json::value&) { return to_the_parent(); });
    g.add("b", [](const json::value&) { return to_the_parent(); });
    g.edge("__start__", "b");
  }
  g.edge("__start__", "a");
  return g.compile();
}

ss::json_graph plain_json() {
  auto g = ss::json_graph{};
  g.channel("n", "add");
  g.add("x", [](const json::value&) { return json::object{{"n", 1}}; });
  g.edge("__start__", "x");
  return g;
}

/// Returns the error of a run, or an empty text if it succeeded.
std::string error_of(ss::engine& e, const ss::compiled_json_graph& g, const json::object& input,
                     ss::run_config config = {}) {
  const auto raw = e.try_invoke(g, input, std::move(config));
  return raw.error ? raw.error->text : std::string{};
}

/// Runs every kind of later run on the same lane; all must succeed.
void check_later_runs(ss::engine& e) {
  auto typed = ss::graph<numbers>{};
  typed.add(a, add_one).edge(ss::start, a);
  const auto typed_graph = typed.compile();
  BOOST_TEST(e.invoke(typed_graph, numbers{}).state.n == 1);

  BOOST_TEST(error_of(e, plain_json().compile(), {{"n", 0}}) == "");

  auto options = ss::compile_options{};
  options.checkpointer = ss::memory_checkpointer();
  auto config = ss::run_config{};
  config.thread_id = "t";
  BOOST_TEST(error_of(e, plain_json().compile(options), {{"n", 0}}, config) == "");

  auto branched = ss::graph<numbers>{};
  branched.add(a, add_one);
  branched.branch(ss::start, [](const numbers&) -> ss::destination { return a; }, {a});
  BOOST_TEST(e.invoke(branched.compile(), numbers{}).state.n == 1);

  auto nested = ss::json_graph{};
  nested.channel("n", "add");
  nested.add("sub", plain_json().compile());
  nested.edge("__start__", "sub");
  BOOST_TEST(error_of(e, nested.compile(), {{"n", 0}}) == "");
}

} // namespace

BOOST_DATA_TEST_CASE(command_to_missing_parent_fails_only_its_run,
                     boost::unit_test::data::make({"function", "coroutine that does not wait",
                                                   "coroutine that waits", "two siblings"}),
                     kind) {
  auto e = ss::engine{{.workers = 1}};
  const auto bad = orphan(kind);
  for (auto i = 0; i < 2; ++i) { // the second failing run also reuses the records of the first
    const auto raw = e.try_invoke(bad, {{"log", json::array{}}});
    BOOST_TEST_REQUIRE(raw.error.has_value());
    BOOST_TEST((raw.error->code == ss::graph_errc::no_parent));
  }
  check_later_runs(e);
}

BOOST_AUTO_TEST_CASE(commands_to_parent_do_not_affect_later_runs) {
  auto child = ss::json_graph{};
  child.channel("log", "append");
  for (const auto* const name : {"a", "b"}) {
    child.add(name, [](const json::value&) { return to_the_parent(); });
    child.edge("__start__", name);
  }
  auto parent = ss::json_graph{};
  parent.channel("log", "append");
  parent.add("sub", child.compile());
  parent.edge("__start__", "sub");
  auto e = ss::engine{{.workers = 1}};
  BOOST_TEST(error_of(e, parent.compile(), {{"log", json::array{}}}) == "");
  check_later_runs(e);
}

BOOST_AUTO_TEST_CASE(failed_router_does_not_affect_later_runs) {
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).edge(ss::start, a);
  g.branch(a, [](const numbers&) -> ss::destination { throw 7; }, {a, ss::end});
  auto e = ss::engine{{.workers = 1}};
  BOOST_CHECK_THROW(static_cast<void>(e.invoke(g.compile(), numbers{})), ss::graph_error);
  check_later_runs(e);
}

namespace {

/// Graphs whose node runs a nested graph; each kind starts the nested run in another way.
ss::compiled_graph<numbers> nesting_graph(const ss::compiled_json_graph& child,
                                          std::function<void()> before) {
  auto g = ss::graph<numbers>{};
  g.add(b, [child, before = std::move(before)](const numbers&, ss::runtime rt) -> ss::task<void> {
     before();
     auto in = json::object{{"n", 1}};
     auto running = rt.invoke(child, std::move(in));
     const auto out = co_await running;
     static_cast<void>(out);
   }).edge(ss::start, b);
  return g.compile();
}

} // namespace

BOOST_AUTO_TEST_CASE(starting_nested_run_does_not_skip_queued_runs) {
  // A run cancelled while it is queued frees its record, and the nested run takes that record.
  // Other runs are queued behind it, and each must get its turn.
  for (const auto others : {1, 2, 5}) {
    auto e = ss::engine{{.workers = 1}};
    auto plain = ss::graph<numbers>{};
    plain.add(a, add_one).edge(ss::start, a);
    const auto plain_graph = plain.compile();
    auto ended = std::latch{others + 1};
    const auto parent = nesting_graph(plain_json().compile(), [&] {
      const auto victim = e.submit(plain_graph, numbers{}, {},
                                   [&](const ss::run_result<numbers>&) { ended.count_down(); });
      for (auto i = 0; i < others; ++i)
        e.submit(plain_graph, numbers{}, {},
                 [&](const ss::run_result<numbers>&) { ended.count_down(); });
      victim.cancel();
    });
    static_cast<void>(e.invoke(parent, numbers{}));
    ended.wait(); // a lost run exceeds the test's timeout
    BOOST_TEST(e.debug().live_runs() == 0U);
  }
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// A reducer that changes its value and then throws: the barrier fails. The run's result and the
// newest checkpoint have the state of the last finished step. get_state() applies the writes of
// ended tasks, so without a checkpoint id it reports the same failure.
#include "graph_api/json_runs.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/runtime/graph.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace graph_api;

BOOST_AUTO_TEST_SUITE(failed_barrier)

namespace {

/// The failing step: whether the run is saved, another node runs in the step, and the failing node
/// has a router.
struct variant {
  bool is_saved = false;
  bool has_sibling = false;
  bool has_router = false;
};

std::ostream& operator<<(std::ostream& out, const variant& v) {
  return out << (v.is_saved ? "saved" : "not saved") << (v.has_sibling ? ", with a sibling" : "")
             << (v.has_router ? ", with a router" : "");
}

std::vector<variant> all_variants() {
  auto out = std::vector<variant>{};
  for (const auto is_saved : {false, true})
    for (const auto has_sibling : {false, true})
      for (const auto has_router : {false, true})
        out.push_back({is_saved, has_sibling, has_router});
  return out;
}

const auto variants = all_variants();

/// Appends the items of `more` up to the item "bad", at which it throws.
template <class List, class Text>
void append_until_bad(List& into, List&& more, Text text) {
  for (auto& item : more) {
    if (text(item) == "bad")
      throw std::runtime_error{"bad item"};
    into.push_back(std::move(item));
  }
}

using lines = std::vector<std::string>;

struct until_bad {
  void operator()(lines& into, lines&& more) const {
    append_until_bad(into, std::move(more), [](const std::string& s) { return s; });
  }
};

struct board {
  int early = 0;
  lines log;
  lines other;
  std::string title;
  using reducers = ss::reducers<ss::by<&board::early, std::plus<>>, ss::by<&board::log, until_bad>,
                                ss::by<&board::other, ss::append_items>>;
  bool operator==(const board&) const = default;
};
BOOST_DESCRIBE_STRUCT(board, (), (early, log, other, title))

constexpr auto good = ss::node<board>{"good"};
constexpr auto bad = ss::node<board>{"bad"};
constexpr auto sibling = ss::node<board>{"sibling"};

ss::update<board> writes(int early, lines log, std::string title) {
  return ss::update{ss::set<&board::early>(early), ss::set<&board::log>(std::move(log)),
                    ss::set<&board::other>({title}), ss::set<&board::title>(title)};
}

ss::compiled_graph<board> typed_graph(const variant& v) {
  auto options = ss::compile_options{};
  if (v.is_saved)
    options.checkpointer = ss::memory_checkpointer();
  auto g = ss::graph<board>{};
  g.add(good, [](const board&) { return writes(1, {"a"}, "first"); });
  g.add(bad, [](const board&) { return writes(2, {"b", "bad"}, "second"); });
  g.edge(ss::start, good).edge(good, bad);
  if (v.has_sibling) {
    g.add(sibling, [](const board&) { return ss::update{ss::set<&board::early>(10)}; });
    g.edge(good, sibling);
  }
  if (v.has_router)
    g.branch(bad, [](const board&) -> ss::destination { return ss::end; });
  return g.compile(options);
}

ss::compiled_json_graph json_graph(const variant& v) {
  auto options = ss::compile_options{};
  if (v.is_saved)
    options.checkpointer = ss::memory_checkpointer();
  auto g = ss::json_graph{};
  g.channel("early", "add").channel("list", "append").channel("title").channel("brief", "topic");
  g.channel("log", ss::json_reducer{[](json::value& into, json::value&& more) {
              append_until_bad(into.as_array(), std::move(more.as_array()),
                               [](const json::value& item) { return item.as_string(); });
            }},
            json::array{});
  const auto node = [&](const char* name, int early, json::array log) {
    g.add(name, [=](const json::value&) {
      return json::object{
          {"early", early}, {"list", json::array{name}}, {"title", name}, {"log", log}};
    });
  };
  node("good", 1, {"a"});
  node("bad", 2, {"b", "bad"});
  g.sequence({"__start__", "good", "bad"});
  if (v.has_sibling) {
    g.add("sibling", [](const json::value&) { return json::object{{"early", 10}}; });
    g.edge("good", "sibling");
  }
  if (v.has_router)
    g.branch("bad", [](const json::value&) { return std::string{"__end__"}; });
  return g.compile(options);
}

ss::run_config config_for(const variant& v) {
  auto config = ss::run_config{};
  if (v.is_saved)
    config.thread_id = "t";
  return config;
}

/// Returns the state of the newest checkpoint.
template <class State>
State saved_state(ss::engine& e, const ss::compiled_graph<State>& graph) {
  BOOST_CHECK_EXCEPTION(static_cast<void>(e.get_state(graph, on("t"))), ss::graph_error,
                        [](const auto& error) {
                          return error.code() == make_error_code(ss::channel_errc::reducer_failed);
                        });
  const auto history = e.get_state_history(graph, on("t"));
  BOOST_TEST_REQUIRE(!history.empty());
  return e.get_state(graph, history.front().config()).values.value();
}

} // namespace

BOOST_DATA_TEST_CASE(typed_state_is_that_of_last_finished_step,
                     boost::unit_test::data::make(variants), v) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = typed_graph(v);
  const auto ended = e.try_invoke(graph, board{}, config_for(v));
  const auto expected = board{1, {"a"}, {"first"}, "first"};
  BOOST_TEST_REQUIRE(ended.error.has_value());
  BOOST_TEST((ended.state == expected));
  if (v.is_saved)
    BOOST_TEST((saved_state(e, graph) == expected));
}

BOOST_DATA_TEST_CASE(json_state_is_that_of_last_finished_step,
                     boost::unit_test::data::make(variants), v) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = json_graph(v);
  const auto input = json::object{{"brief", json::array{1}}};
  const auto ended = e.try_invoke(graph, input, config_for(v));
  const auto expected = std::string{R"({"early":1,"list":["good"],"title":"good","log":["a"]})"};
  BOOST_TEST_REQUIRE(ended.error.has_value());
  BOOST_TEST(ss::to_text(ended.state) == expected);
  if (v.is_saved)
    BOOST_TEST(ss::to_text(saved_state(e, graph)) == expected);
}

BOOST_AUTO_TEST_SUITE_END()

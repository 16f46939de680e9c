// SPDX-License-Identifier: Apache-2.0
// Typed results of typed graphs, and accessors that are used with the wrong type.
#include "actors/engine_access.hpp"
#include "graph_api/threads.hpp"

#include <superstep/base/await.hpp>
#include <superstep/runtime/channel_graph.hpp>

#include <boost/test/unit_test.hpp>

using namespace graph_api;

namespace typed_states {

struct order {
  std::string item;
  int price = 0;
};
BOOST_DESCRIBE_STRUCT(order, (), (item, price))

struct parcel { // like order, but for another graph
  std::string label;
  int weight = 0;
};
BOOST_DESCRIBE_STRUCT(parcel, (), (label, weight))

} // namespace typed_states

using namespace typed_states;

namespace {

constexpr auto quote = ss::node<order>{"quote"};
constexpr auto ship = ss::node<order>{"ship"};
constexpr auto weigh = ss::node<parcel>{"weigh"};

ss::compiled_graph<parcel> weighing() {
  auto g = ss::graph<parcel>{};
  g.add(weigh, [](const parcel&) { return ss::update{ss::set<&parcel::weight>(7)}; });
  g.edge(ss::start, weigh);
  return g.compile();
}

ss::graph<order> selling() {
  auto g = ss::graph<order>{};
  g.add(quote, [](const order&) { return ss::update{ss::set<&order::price>(30)}; });
  g.add(
      ship, weighing(),
      [](const order& o) {
        return parcel{o.item, 0};
      },
      [](const parcel& p) { return ss::update{ss::set<&order::item>(p.label + '!')}; });
  g.sequence({ss::start, quote, ship});
  return g;
}

} // namespace

BOOST_AUTO_TEST_SUITE(typed_access)

BOOST_AUTO_TEST_CASE(stream_events_contain_typed_states_and_writes) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = selling().compile();
  auto events = ss::detail::engine_access::stream(
      e, graph, order{"lamp", 0}, ss::stream_mode::values | ss::stream_mode::updates);
  auto seen = std::vector<std::string>{};
  while (const auto event = events.next()) {
    if (event->mode == ss::stream_mode::values) {
      BOOST_TEST_REQUIRE(event->values() != nullptr);
      BOOST_TEST(event->wrote<&order::price>() == nullptr);
      seen.push_back(event->values()->item + ' ' + std::to_string(event->values()->price));
    } else {
      BOOST_TEST(event->values() == nullptr);
      BOOST_TEST(event->wrote<&parcel::weight>() == nullptr); // a field of another struct
      const auto* price = event->wrote<&order::price>();
      BOOST_TEST((price != nullptr) == (event->node == "quote"));
      seen.push_back(event->node);
    }
  }
  const auto expected = std::vector<std::string>{"lamp 0", "quote", "lamp 30", "ship", "lamp! 30"};
  BOOST_TEST(seen == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(subgraph_events_contain_state_of_the_subgraph) {
  auto e = ss::engine{{.workers = 1}};
  auto events = ss::detail::engine_access::stream(
      e, selling().compile(), order{"lamp", 0},
      ss::stream_mode::values | ss::stream_mode::updates | ss::stream_mode::subgraphs);
  auto weights = std::vector<int>{};
  while (const auto event = events.next()) {
    if (!event->path)
      continue;
    BOOST_TEST(event->values() == nullptr);
    BOOST_TEST(event->wrote<&order::price>() == nullptr);
    if (const auto* wrote = event->wrote<&parcel::weight>())
      weights.push_back(*wrote);
    if (const auto* values = event->values<parcel>())
      weights.push_back(values->weight);
  }
  BOOST_TEST((weights == std::vector<int>{0, 7, 7}));
}

BOOST_AUTO_TEST_CASE(coroutine_receives_typed_stream_events) {
  auto e = ss::engine{{.workers = 1}};
  auto events = ss::detail::engine_access::stream(e, selling().compile(), order{"lamp", 0},
                                                  ss::stream_mode::values);
  auto reading = [](ss::state_stream<order>& from) -> ss::task<int> {
    auto last = 0;
    while (true) {
      auto next = from.receive();
      const auto event = co_await next;
      if (!event)
        co_return last;
      last = event->values()->price;
    }
  };
  BOOST_TEST(ss::sync_wait(reading(events)) == 30);
}

BOOST_AUTO_TEST_CASE(snapshots_and_history_return_the_graphs_state_type) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = selling().compile(kept());
  const auto none = e.get_state(graph, on("t"));
  BOOST_TEST(!none.values.has_value());
  static_cast<void>(e.invoke(graph, order{"lamp", 0}, on("t")));
  const auto now = e.get_state(graph, on("t"));
  BOOST_TEST(now.values->price == 30);
  BOOST_CHECK_THROW(static_cast<void>(now.as<parcel>()), ss::wrong_type);
  auto prices = std::vector<int>{};
  for (const auto& one : e.get_state_history(graph, on("t"))) {
    prices.push_back(one.values->price);
    if (one.next == std::vector<std::string>{"quote"}) {
      const auto& result = one.tasks.at(0).result;
      BOOST_TEST_REQUIRE(result.has_value());
      BOOST_TEST(*ss::written<&order::price>(*result) == 30);
      BOOST_TEST(ss::written<&order::item>(*result) == nullptr);
    }
  }
  BOOST_TEST((prices == std::vector<int>{30, 30, 0, 0}));
}

BOOST_AUTO_TEST_CASE(value_access_with_wrong_type_throws) {
  const auto small = ss::value{7};
  const auto large = ss::value{std::string(100, 'x')};
  auto empty = ss::value{};
  BOOST_TEST(small.as<int>() == 7);
  BOOST_TEST(small.get_if<long>() == nullptr);
  BOOST_TEST(large.get_if<std::string>()->size() == 100U);
  BOOST_CHECK_THROW(static_cast<void>(small.as<std::string>()), ss::wrong_type);
  BOOST_CHECK_THROW(static_cast<void>(large.as<int>()), ss::wrong_type);
  BOOST_CHECK_THROW(static_cast<void>(large.as<std::vector<int>>()), ss::wrong_type);
  BOOST_CHECK_THROW(static_cast<void>(empty.as<int>()), ss::wrong_type);
  BOOST_CHECK_THROW(static_cast<void>(empty.take<int>()), ss::wrong_type);
}

BOOST_AUTO_TEST_CASE(streamed_message_access_with_wrong_type_throws) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<order>{};
  g.add(quote, [](const order&, const ss::runtime& rt) {
    rt.emit_message(ss::value{std::string{"thirty"}});
  });
  g.edge(ss::start, quote);
  auto events =
      ss::detail::engine_access::stream(e, g.compile(), order{}, ss::stream_mode::messages);
  const auto event = events.next();
  BOOST_TEST(event->message.as<std::string>() == "thirty");
  BOOST_CHECK_EXCEPTION(static_cast<void>(event->message.as<order>()), ss::wrong_type,
                        [](const auto& wrong) {
                          const auto text = std::string{wrong.what()};
                          return text.find("order") != std::string::npos &&
                                 text.find("basic_string") != std::string::npos;
                        });
}

BOOST_AUTO_TEST_CASE(context_access_with_wrong_type_throws) {
  auto e = ss::engine{{.workers = 1}};
  auto found = std::string{};
  auto g = ss::graph<order>{};
  g.add(quote, [&](const order& o, const ss::runtime& rt) {
    if (o.item == "right")
      found = *rt.context<std::string>();
    else if (rt.context<order>() == nullptr)
      found = "none";
  });
  g.edge(ss::start, quote);
  const auto graph = g.compile();
  static_cast<void>(e.invoke(graph, order{"none", 0}));
  BOOST_TEST(found == "none");
  auto config = ss::run_config{};
  config.context = std::make_shared<std::string>("Ada");
  static_cast<void>(e.invoke(graph, order{"right", 0}, config));
  BOOST_TEST(found == "Ada");
  const auto ended = e.try_invoke(graph, order{"wrong", 0}, config);
  BOOST_TEST_REQUIRE(ended.error.has_value());
  BOOST_TEST(ended.error->text.find("context of the run has type") != std::string::npos,
             ended.error->text);
}

BOOST_AUTO_TEST_CASE(channel_handles_reject_states_of_other_graphs) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::channel_graph{};
  const auto n = g.last_value<int>("n", 5);
  g.edge(ss::start, g.add("a", ss::reads{n}, [](int) { return ss::step_result{}; }));
  auto other = ss::channel_graph{};
  const auto same_type = other.last_value<int>("n", 6);
  const auto text = other.last_value<std::string>("text", "");
  const auto ended = e.try_invoke(g.compile(), {});
  BOOST_TEST(ss::get(n, ended) == 5);
  BOOST_TEST(ss::get(n, ended.state) == 5);
  BOOST_CHECK_THROW(static_cast<void>(ss::get(text, ended.state)), ss::graph_error);
  BOOST_CHECK_THROW(static_cast<void>(ss::get(n, ss::channel_values{})), ss::graph_error);
  BOOST_CHECK_THROW(static_cast<void>(ss::get(same_type, ended)), ss::graph_error);
  BOOST_CHECK_THROW(static_cast<void>(ss::get(text, ended)), ss::graph_error);
  BOOST_CHECK_THROW(static_cast<void>(ss::get(n, ss::run_result<ss::channel_values>{})),
                    ss::graph_error);
  const auto struct_state = ss::state_ptr{new ss::struct_block<order>{}};
  BOOST_CHECK_THROW(static_cast<void>(ss::get(n, *struct_state)), ss::graph_error);
}

BOOST_AUTO_TEST_CASE(typed_graph_rejects_program_of_other_state_type) {
  const auto graph = weighing();
  BOOST_CHECK_NO_THROW((void)ss::detail::graph_access::make<parcel>(ss::detail::program_of(graph)));
  BOOST_CHECK_EXCEPTION((void)ss::detail::graph_access::make<order>(ss::detail::program_of(graph)),
                        ss::wrong_type, [](const ss::wrong_type& e) {
                          const auto text = std::string{e.what()};
                          return text.find("parcel, but was accessed as ") != text.npos &&
                                 text.find("struct_block") == text.npos;
                        });
  auto g = ss::json_graph{};
  g.channel("n").add("a", [](const json::value&) {}).edge("__start__", "a");
  BOOST_CHECK_THROW(
      (void)ss::detail::graph_access::make<order>(ss::detail::program_of(g.compile())),
      ss::wrong_type);
}

BOOST_AUTO_TEST_CASE(body_input_access_with_wrong_type_throws) {
  auto e = ss::engine{{.workers = 1}};
  auto thrown = std::string{};
  auto options = ss::node_options{};
  options.on_failure = [&](const ss::body_input& in, const ss::run_error&) {
    try {
      static_cast<void>(ss::input_as<parcel>(in));
    } catch (const ss::wrong_type& wrong) {
      thrown = wrong.what();
    }
    return std::optional<ss::node_output>{ss::node_output{}};
  };
  auto g = ss::graph<order>{};
  g.add(
      quote, [](const order&) { throw std::runtime_error{"no"}; }, options);
  g.edge(ss::start, quote);
  static_cast<void>(e.invoke(g.compile(), order{}));
  BOOST_TEST(thrown.find("parcel") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

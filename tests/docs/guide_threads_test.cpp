// SPDX-License-Identifier: Apache-2.0
// The code of docs/graph-api.md from its section "Interrupts" on, and of docs/threads.md.
//! [includes]
#include <superstep/actors/engine.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/checkpoint/store.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/runtime/drawing.hpp>
#include <superstep/runtime/graph.hpp>
#include <superstep/runtime/json_graph.hpp>
#include <superstep/threads/snapshot.hpp>
//! [includes]

#include <boost/describe/class.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

// A named namespace, because coroutine frames of templates contain the state.
namespace guide_orders {

//! [order]
namespace ss = superstep;
namespace json = boost::json;

struct order {
  std::string item;
  int price = 0;
  bool is_approved = false;
  int total = 0; // written numbers are added
  using reducers = ss::reducers<ss::by<&order::total, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(order, (), (item, price, is_approved, total))
//! [order]

//! [nodes]
constexpr auto quote = ss::node<order>{"quote"};
constexpr auto approve = ss::node<order>{"approve"};
constexpr auto pay = ss::node<order>{"pay"};

ss::update<order> make_quote(const order&) {
  return ss::update{ss::set<&order::price>(30)};
}
ss::update<order> make_payment(const order& o) {
  return ss::update{ss::set<&order::total>(o.is_approved ? o.price : 0)};
}
//! [nodes]

//! [asks]
ss::task<ss::update<order>> ask_for_approval(order o, ss::runtime rt) {
  auto question = rt.interrupt({{"buy", o.item}, {"price", o.price}});
  const auto answer = co_await question; // stops here until the caller has passed an answer
  co_return ss::update{ss::set<&order::is_approved>(answer.as_bool())};
}
//! [asks]

//! [shop]
ss::graph<order> shop() {
  auto g = ss::graph<order>{};
  g.add(quote, make_quote).add(approve, ask_for_approval).add(pay, make_payment);
  g.sequence({ss::start, quote, approve, pay});
  return g;
}
//! [shop]

//! [basket]
struct basket {
  std::vector<std::string> items;
  int total = 0;
  using reducers = ss::reducers<ss::by<&basket::total, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(basket, (), (items, total))

constexpr auto buy = ss::node<basket>{"buy"};
constexpr auto pay_all = ss::node<basket>{"pay_all"};
//! [basket]

//! [wish]
struct wish { // a projection of order
  std::string item;
};
BOOST_DESCRIBE_STRUCT(wish, (), (item))
//! [wish]

order wanted(std::string item) {
  auto o = order{};
  o.item = std::move(item);
  return o;
}

} // namespace guide_orders

using namespace guide_orders;

BOOST_AUTO_TEST_SUITE(guide)

BOOST_AUTO_TEST_CASE(interrupted_run_continues_with_the_resume_value) {
  //! [threads]
  auto engine = ss::engine{};
  const auto graph = shop().compile({.checkpointer = ss::memory_checkpointer()});

  auto config = ss::run_config{};
  config.thread_id = "order-17";
  auto input = order{};
  input.item = "a lamp";
  const auto stopped = engine.invoke(graph, input, config);
  // stopped.interrupts.at(0).value == {"buy": "a lamp", "price": 30}

  const auto done = engine.invoke(graph, ss::resume(true), config); // done.state.total == 30
  //! [threads]
  BOOST_TEST(json::serialize(stopped.interrupts.at(0).value) == R"({"buy":"a lamp","price":30})");
  BOOST_TEST(done.state.total == 30);
}

BOOST_AUTO_TEST_CASE(later_inputs_keep_fields_they_omit) {
  //! [turns]
  auto g = ss::graph<order>{};
  g.add(quote, make_quote);
  g.add(pay, [](const order& o) { return ss::update{ss::set<&order::total>(o.price)}; });
  g.sequence({ss::start, quote, pay});
  const auto graph = g.compile({.checkpointer = ss::memory_checkpointer()});

  auto engine = ss::engine{};
  auto config = ss::run_config{};
  config.thread_id = "order-17";
  engine.invoke(graph, order{.item = "a lamp"}, config); // a new thread: a whole state

  // Later turns: an update or a projection. The other fields keep their values.
  engine.invoke(graph, ss::update{ss::set<&order::item>("a table")}, config);
  const auto third = engine.invoke(graph, wish{"a chair"}, config); // third.state.total == 90
  //! [turns]
  BOOST_TEST(third.state.total == 90);
  BOOST_TEST(third.state.item == "a chair");
}

BOOST_AUTO_TEST_CASE(rt_ask_in_plain_function_interrupts_run) {
  auto engine = ss::engine{{.workers = 1}};
  //! [plain_ask]
  auto g = ss::graph<order>{};
  g.add(approve, [](const order& o, const ss::runtime& rt) {
    const auto answer = rt.ask("buy " + o.item + "?");
    if (!answer) // no resume value yet: the engine discards this result
      return ss::update<order>{};
    return ss::update{ss::set<&order::is_approved>(answer->as_bool())};
  });
  g.edge(ss::start, approve);
  //! [plain_ask]
  BOOST_TEST(engine.try_invoke(g.compile(), order{}).interrupts.size() == 1U);
}

BOOST_AUTO_TEST_CASE(breakpoint_stops_run_without_pending_interrupts) {
  auto engine = ss::engine{{.workers = 1}};
  //! [breakpoints]
  auto g = ss::graph<order>{};
  g.add(quote, make_quote).add(pay, make_payment).sequence({ss::start, quote, pay});
  auto options = ss::compile_options{};
  options.checkpointer = ss::memory_checkpointer();
  options.interrupt_before = {"pay"};
  const auto graph = g.compile(options);

  auto config = ss::run_config{};
  config.thread_id = "order-18";
  const auto stopped = engine.invoke(graph, order{}, config);
  // stopped.status == ss::run_status::interrupted, stopped.interrupts.empty()
  const auto done = engine.invoke(graph, ss::resume(), config);
  //! [breakpoints]
  BOOST_TEST((stopped.status == ss::run_status::interrupted));
  BOOST_TEST(stopped.interrupts.empty());
  BOOST_TEST((done.status == ss::run_status::finished));
}

BOOST_AUTO_TEST_CASE(run_resumes_from_edited_state_and_replays_checkpoint) {
  auto engine = ss::engine{{.workers = 1}};
  //! [state]
  const auto graph = shop().compile({.checkpointer = ss::memory_checkpointer()});
  auto config = ss::run_config{};
  config.thread_id = "order-19";
  engine.invoke(graph, order{.item = "a lamp"}, config); // stops in `approve`

  const auto now = engine.get_state(graph, config);
  // now.values->price == 30, now.next == {"approve"}, now.interrupts().size() == 1

  // Writes as if `approve` had returned this update. Its edge to `pay` fires.
  engine.update_state(graph, config, ss::set<&order::is_approved>(true), "approve");
  const auto done = engine.invoke(graph, ss::resume(), config); // done.state.total == 30
  //! [state]
  BOOST_TEST(now.values->price == 30);
  BOOST_TEST(now.interrupts().size() == 1U);
  BOOST_TEST(now.next == std::vector<std::string>{"approve"}, boost::test_tools::per_element());
  BOOST_TEST(done.state.total == 30);
  //! [replay]
  const auto history = engine.get_state_history(graph, config); // newest first
  const auto& before_pay = history.at(1);                       // before_pay.values->total == 0
  const auto paid = engine.invoke(graph, ss::resume(), before_pay.config()); // runs `pay` again
  //! [replay]
  BOOST_TEST(history.at(1).values->total == 0);
  BOOST_TEST(paid.state.total == 30);
  BOOST_TEST(engine.get_state_history(graph, config).size() == history.size() + 2);
}

BOOST_AUTO_TEST_CASE(resume_value_reaches_interrupt_of_subgraph) {
  auto engine = ss::engine{{.workers = 1}};
  //! [subgraph]
  const auto to_order = [](const basket& b) { // returns the input of the subgraph
    auto o = order{};
    o.item = b.items.front();
    return o;
  };
  const auto from_order = [](const order& o) { // returns an update of the parent
    return ss::update{ss::set<&basket::total>(o.total)};
  };
  auto g = ss::graph<basket>{};
  g.add(buy, shop().compile(), to_order, from_order).edge(ss::start, buy);
  //! [subgraph]
  const auto graph = g.compile({.checkpointer = ss::memory_checkpointer()});
  auto config = ss::run_config{};
  config.thread_id = "t";
  auto input = basket{};
  input.items = {"a lamp"};
  BOOST_TEST(engine.try_invoke(graph, input, config).interrupts.size() == 1U);
  BOOST_TEST(engine.try_invoke(graph, ss::resume(true), config).state.total == 30);
}

BOOST_AUTO_TEST_CASE(body_receives_state_of_graphs_it_invokes) {
  auto engine = ss::engine{{.workers = 1}};
  //! [nested]
  auto inner = ss::json_graph{};
  inner.channel("n", "add");
  inner.add("one", [](const json::value&) { return json::object{{"n", 1}}; });
  inner.edge("__start__", "one");
  const auto child = inner.compile(); // adds 1 to "n"

  auto g = ss::json_graph{};
  g.channel("n", "add");
  g.add("twice", [child](const json::value&, ss::runtime rt) -> ss::task<json::object> {
    auto first = rt.invoke(child, {{"n", 10}}); // g++ 12 does not support braces in co_await
    auto done = co_await first;                 // {"n": 11}
    co_return co_await rt.invoke(child, std::move(done)); // {"n": 12}
  });
  g.edge("__start__", "twice");
  const auto done = engine.invoke(g.compile(), json::object{}); // done.state == {"n": 12}
  //! [nested]
  BOOST_TEST(done.state.at("n").as_int64() == 12);
}

BOOST_AUTO_TEST_CASE(stream_returns_events_of_selected_modes) {
  auto engine = ss::engine{{.workers = 1}};
  //! [stream]
  auto g = ss::graph<order>{};
  g.add(quote, [](const order&, const ss::runtime& rt) {
    rt.emit("thinking"); // a custom event
    return ss::update{ss::set<&order::price>(30)};
  });
  g.edge(ss::start, quote);
  const auto graph = g.compile();

  auto seen = std::string{};
  const auto modes = ss::stream_mode::updates | ss::stream_mode::values | ss::stream_mode::custom;
  for (const auto& event : engine.stream(graph, order{}, modes)) { // throws if the run fails
    if (const auto* wrote = std::get_if<ss::update_event>(&event))
      seen += wrote->node + " wrote " + std::to_string(*wrote->wrote<&order::price>()) + ". ";
    else if (const auto* sent = std::get_if<ss::custom_event>(&event))
      seen += std::string{sent->data.as_string()} + ". ";
    else if (const auto* after = std::get_if<ss::values_event<order>>(&event))
      seen += "price " + std::to_string(after->state->price) + ". ";
  } // seen == "price 0. thinking. quote wrote 30. price 30. "
  //! [stream]
  BOOST_TEST(seen == "price 0. thinking. quote wrote 30. price 30. ");
}

BOOST_AUTO_TEST_CASE(cancelled_stream_leaves_thread_that_resumes) {
  auto engine = ss::engine{{.workers = 1}};
  auto is_slow = std::atomic{true};
  auto g = ss::graph<order>{};
  g.add(quote, make_quote);
  g.add(pay, [&](const order& o, const ss::runtime& rt) { // blocks until the run is cancelled
    while (is_slow && !rt.stop().stop_requested())
      std::this_thread::yield();
    return ss::update{ss::set<&order::total>(o.price)};
  });
  g.sequence({ss::start, quote, pay});
  const auto graph = g.compile({.checkpointer = ss::memory_checkpointer()});
  auto config = ss::run_config{};
  config.thread_id = "order-20";
  //! [cancel]
  auto events = engine.stream(graph, order{.item = "a lamp"}, ss::stream_mode::updates, config);
  try {
    for (const auto& event : events) {
      const auto* wrote = std::get_if<ss::update_event>(&event);
      if (wrote != nullptr && wrote->node == "quote")
        events.handle().cancel(); // from any thread; the loop then ends with an error
    }
  } catch (const ss::graph_error& e) {
    // e.code() == ss::graph_errc::cancelled
  }
  const auto cancelled = events.result(); // cancelled.state.price == 30
  // Later, engine.invoke(graph, ss::resume(), config) runs `pay`.
  //! [cancel]
  is_slow = false;
  const auto done = engine.invoke(graph, ss::resume(), config);
  BOOST_TEST(cancelled.error.has_value());
  BOOST_TEST((cancelled.error->code == ss::graph_errc::cancelled));
  BOOST_TEST(cancelled.state.price == 30);
  BOOST_TEST(done.state.total == 30);

  // Destroying the range cancels the run, too.
  is_slow = true;
  config.thread_id = "order-21";
  for (const auto& event : engine.stream(graph, order{.item = "a lamp"}, config))
    if (std::holds_alternative<ss::update_event>(event))
      break;
  is_slow = false;
  BOOST_TEST(engine.invoke(graph, ss::resume(), config).state.total == 30);
}

BOOST_AUTO_TEST_CASE(copied_state_drops_wrong_answer) {
  auto engine = ss::engine{{.workers = 1}};
  const auto graph = shop().compile({.checkpointer = ss::memory_checkpointer()});
  auto config = ss::run_config{};
  config.thread_id = "order-22";
  engine.invoke(graph, order{.item = "a lamp"}, config);
  //! [wrong_answer]
  auto failed = engine.try_invoke(graph, ss::resume("yes"), config); // `approve` needs a boolean
  failed = engine.try_invoke(graph, ss::resume(true), config); // fails, too: it gets "yes" again

  engine.copy_state(graph, config);                                 // drops the answer
  const auto again = engine.invoke(graph, ss::resume(), config);    // `approve` asks again
  const auto done = engine.invoke(graph, ss::resume(true), config); // done.state.total == 30
  //! [wrong_answer]
  BOOST_REQUIRE(failed.error.has_value());
  BOOST_TEST(failed.error->node == "approve");
  BOOST_TEST(again.interrupts.size() == 1U);
  BOOST_TEST(done.state.total == 30);
}

BOOST_AUTO_TEST_CASE(body_reads_run_deadline_from_runtime) {
  using time_point = std::chrono::steady_clock::time_point;
  auto engine = ss::engine{{.workers = 1}};
  auto latest = time_point::max();
  const auto price_before = [&latest](time_point until, const std::string&) {
    latest = until;
    return 30;
  };
  auto g = ss::graph<order>{};
  //! [deadline]
  g.add(quote, [&](const order& o, const ss::runtime& rt) {
    const auto in_a_minute = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    const auto until = std::min(in_a_minute, rt.deadline().value_or(in_a_minute));
    return ss::update{ss::set<&order::price>(price_before(until, o.item))};
  });
  //! [deadline]
  g.edge(ss::start, quote);
  auto config = ss::run_config{};
  config.deadline = std::chrono::seconds{30};
  BOOST_TEST(engine.invoke(g.compile(), order{}, config).state.price == 30);
  BOOST_TEST((latest <= std::chrono::steady_clock::now() + std::chrono::seconds{30}));
}

BOOST_AUTO_TEST_CASE(stream_returns_messages_that_nodes_emit) {
  auto engine = ss::engine{{.workers = 1}};
  //! [tokens]
  auto g = ss::graph<order>{};
  g.add(quote, [](const order&, const ss::runtime& rt) {
    rt.emit_message(ss::value{std::string{"thirty"}});
    return ss::update{ss::set<&order::price>(30)};
  });
  g.edge(ss::start, quote);
  const auto graph = g.compile();

  auto seen = std::string{};
  for (const auto& event : engine.stream(graph, order{}, ss::stream_mode::messages)) {
    const auto& sent = std::get<ss::message_event>(event);
    if (const auto* text = sent.get_if<std::string>()) // what `quote` sends
      seen += sent.node + ": " + *text;
    else if (const auto* piece = sent.get_if<ss::message_chunk>()) // what agents send
      seen += ss::text_of(piece->part);
  } // seen == "quote: thirty"
  //! [tokens]
  BOOST_TEST(seen == "quote: thirty");
}

BOOST_AUTO_TEST_CASE(parent_command_ends_subgraph_and_updates_parent) {
  auto engine = ss::engine{{.workers = 1}};
  //! [parent]
  auto inner = ss::graph<order>{};
  inner.add(quote, [](const order&) { // ends `inner`: `pay` does not run
    return ss::parent_command<basket>{ss::set<&basket::items>({"a lamp"}), {pay_all}};
  });
  inner.add(pay, make_payment).sequence({ss::start, quote, pay});

  auto outer = ss::graph<basket>{};
  outer.add(
      buy, inner.compile(), [](const basket&) { return order{}; },
      [](const order& o) { return ss::update{ss::set<&basket::total>(o.total)}; });
  outer.add(pay_all, [](const basket&) { return ss::update{ss::set<&basket::total>(30)}; });
  outer.edge(ss::start, buy);
  const auto done = engine.invoke(outer.compile(), basket{}).state;
  // done.items == {"a lamp"}, done.total == 30
  //! [parent]
  BOOST_TEST(done.total == 30);
  BOOST_TEST(done.items.at(0) == "a lamp");
}

struct old_order {
  std::string item;
  std::string price;
};
BOOST_DESCRIBE_STRUCT(old_order, (), (item, price))

BOOST_AUTO_TEST_CASE(stored_value_of_older_type_is_converted) {
  auto engine = ss::engine{{.workers = 1}};
  const auto checkpointer = ss::memory_checkpointer();
  auto config = ss::run_config{};
  config.thread_id = "order-17";
  auto old = ss::graph<old_order>{};
  old.add(ss::node<old_order>{"quote"},
          [](const old_order&) { return ss::update{ss::set<&old_order::price>("30 gold")}; });
  old.edge(ss::start, ss::node<old_order>{"quote"});
  (void)engine.invoke(old.compile({.checkpointer = checkpointer}), old_order{}, config);
  //! [convert]
  auto options = ss::compile_options{};
  options.checkpointer = checkpointer; // contains threads of an older version of the program
  options.convert = [](const ss::outdated_value& v) -> std::optional<json::value> {
    if (v.channel != "price")
      return std::nullopt;  // the run fails with checkpoint_errc::type_changed
    return json::value(30); // the older version stored the text "30 gold"
  };
  //! [convert]
  auto g = ss::graph<order>{};
  g.add(pay, [](const order& o) { return ss::update{ss::set<&order::total>(o.price)}; });
  g.edge(ss::start, pay);
  const auto graph = g.compile(options);
  const auto next = ss::update{ss::set<&order::is_approved>(true)};
  BOOST_TEST(engine.invoke(graph, next, config).state.total == 30);
}

BOOST_AUTO_TEST_CASE(store_keeps_values_between_runs) {
  auto engine = ss::engine{{.workers = 1}};
  //! [store]
  auto g = ss::graph<order>{};
  g.add(quote, [](const order& o, const ss::runtime& rt) {
    auto* const memory = rt.store();
    if (memory == nullptr) // neither compile() nor the run has set one
      return ss::update{ss::set<&order::price>(30)};
    const auto known = memory->get({"prices"}, o.item);
    memory->put({"prices"}, o.item, {{"price", 30}});
    return ss::update{ss::set<&order::price>(known ? 25 : 30)};
  });
  g.edge(ss::start, quote);
  const auto graph = g.compile({.store = std::make_shared<ss::memory_store>()});
  //! [store]
  BOOST_TEST(engine.invoke(graph, wanted("a lamp")).state.price == 30);
  BOOST_TEST(engine.invoke(graph, wanted("a lamp")).state.price == 25);
}

BOOST_AUTO_TEST_CASE(mermaid_and_dot_drawings_contain_edges) {
  //! [draw]
  const auto graph = shop().compile();
  auto options = ss::draw_options{};
  options.expand = 8; // draws subgraphs down to this level in place of their nodes
  const auto mermaid = ss::to_mermaid(graph, options);
  const auto dot = ss::to_dot(graph, options);
  //! [draw]
  BOOST_TEST(mermaid.find("quote --> approve;") != std::string::npos);
  BOOST_TEST(dot.find("\"quote\" -> \"approve\";") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(json_graph_repeats_node_until_router_ends) {
  auto engine = ss::engine{{.workers = 1}};
  //! [json]
  auto g = ss::json_graph{};
  g.channel("log", "append").channel("n", "add").channel("last");
  g.add("count", [](const json::value& state) {
    return json::object{{"n", 1}, {"log", json::array{state.at("last")}}};
  });
  g.branch("count", [](const json::value& state) { return state.at("n").as_int64() < 3; },
           {{"true", "count"}, {"false", "__end__"}});
  g.edge("__start__", "count");
  const auto graph = g.compile();
  const auto done = engine.invoke(graph, {{"last", "x"}});
  // done.state == {"log": ["x", "x", "x"], "n": 3, "last": "x"}
  //! [json]
  BOOST_TEST(json::serialize(done.state) == R"({"log":["x","x","x"],"n":3,"last":"x"})");
}

BOOST_AUTO_TEST_CASE(json_shape_mismatch_fails_node_and_names_path) {
  auto engine = ss::engine{{.workers = 1}};
  //! [shapes]
  auto g = ss::json_graph{{.check_inputs = true}};
  g.channel("cart").shape("cart", json::parse(R"({"items": [{"price": "number"}]})"));
  g.add("pay", [](const json::value&) {});
  g.edge("__start__", "pay");
  const auto graph = g.compile();
  const auto input = json::parse(R"({"cart": {"items": [{"price": 3}, {"price": "free"}]}})");
  const auto done = engine.try_invoke(graph, input);
  // done.error->text ==
  //   "node 'pay' (task pay, step 1) failed: cart.items[1].price should be a number, got \"free\""
  //! [shapes]
  BOOST_TEST(done.error->text == "node 'pay' (task pay, step 1) failed: cart.items[1].price "
                                 "should be a number, got \"free\"");
}

BOOST_AUTO_TEST_SUITE_END()

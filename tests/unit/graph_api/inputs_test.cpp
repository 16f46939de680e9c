// SPDX-License-Identifier: Apache-2.0
// Inputs of the second turn on a thread. A whole state is rejected, because it would reset fields.
#include "graph_api/threads.hpp"

#include <superstep/runtime/channel_graph.hpp>

#include <boost/test/unit_test.hpp>

#include <future>
#include <stdexcept>

using namespace graph_api;

namespace input_states {

struct talk {
  std::vector<std::string> lines;
  std::string name = "nobody";
  int turns = 0;
  using reducers = ss::reducers<ss::by<&talk::turns, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(talk, (), (lines, name, turns))

struct greeting { // a projection of the state
  std::vector<std::string> lines;
};
BOOST_DESCRIBE_STRUCT(greeting, (), (lines))

} // namespace input_states

using namespace input_states;

namespace {

constexpr auto listen = ss::node<talk>{"listen"};
constexpr auto ask = ss::node<talk>{"ask"};

auto conversation(ss::compile_options options = kept()) {
  auto g = ss::graph<talk>{};
  g.add(listen, [](const talk& t) {
    return ss::update{ss::set<&talk::name>(t.name == "nobody" ? "Ada" : t.name + "+"),
                      ss::set<&talk::turns>(1)};
  });
  g.edge(ss::start, listen);
  return g.compile(std::move(options));
}

/// Returns the error text for a whole state on the thread `t`.
std::string refusal(ss::engine& e, const ss::compiled_graph<talk>& graph, ss::run_config config) {
  const auto ended = e.try_invoke(graph, talk{}, std::move(config));
  BOOST_REQUIRE(ended.error.has_value());
  BOOST_TEST(ended.error->code == make_error_code(ss::graph_errc::used_thread));
  return ended.error->text;
}

} // namespace

BOOST_AUTO_TEST_SUITE(inputs)

BOOST_AUTO_TEST_CASE(whole_state_input_on_used_thread_is_rejected) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = conversation();
  BOOST_TEST(e.invoke(graph, talk{}, on("t")).state.name == "Ada");
  const auto text = refusal(e, graph, on("t"));
  for (const auto* word : {"'t'", "update{", "projection", "resume()"})
    BOOST_TEST(text.find(word) != std::string::npos, text);
  BOOST_CHECK_THROW(e.invoke(graph, talk{}, on("t")), ss::graph_error);
  auto events = e.stream(graph, talk{}, ss::stream_mode::values, on("t"));
  BOOST_CHECK_THROW(static_cast<void>(events.next()), ss::graph_error);
  auto submitted = std::promise<bool>{};
  e.submit(graph, talk{}, on("t"), [&](const auto& ended) {
    submitted.set_value(ended.error->code == make_error_code(ss::graph_errc::used_thread));
  });
  BOOST_TEST(submitted.get_future().get());
  // The rejected inputs have changed nothing. A thread without checkpoints accepts a whole state.
  const auto now = e.get_state(graph, on("t"));
  BOOST_TEST(now.values->name == "Ada");
  BOOST_TEST(e.invoke(graph, talk{}, on("other")).state.name == "Ada");
}

BOOST_AUTO_TEST_CASE(update_and_projection_inputs_keep_other_fields) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = conversation();
  static_cast<void>(e.invoke(graph, talk{}, on("t")));
  const auto second = e.invoke(graph, ss::update{ss::set<&talk::lines>({"again"})}, on("t")).state;
  BOOST_TEST(second.name == "Ada+");
  BOOST_TEST(second.turns == 2);
  const auto third = e.invoke(graph, greeting{{"once more"}}, on("t")).state;
  BOOST_TEST(third.name == "Ada++");
  BOOST_TEST(third.lines.front() == "once more");
}

BOOST_AUTO_TEST_CASE(whole_state_input_on_failed_thread_is_rejected) {
  auto e = ss::engine{{.workers = 1}};
  auto fails = true;
  auto g = ss::graph<talk>{};
  g.add(listen, [&fails](const talk&) -> ss::update<talk> {
    if (fails)
      throw std::runtime_error{"deaf"};
    return ss::update{ss::set<&talk::turns>(1)};
  });
  g.edge(ss::start, listen);
  const auto graph = g.compile(kept());
  BOOST_CHECK_THROW(e.invoke(graph, talk{}, on("t")), ss::graph_error);
  fails = false;
  static_cast<void>(refusal(e, graph, on("t")));
  BOOST_TEST(e.try_invoke(graph, ss::resume(), on("t")).state.turns == 1);
}

BOOST_AUTO_TEST_CASE(whole_state_input_at_older_checkpoint_is_rejected) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = conversation();
  static_cast<void>(e.invoke(graph, talk{}, on("t")));
  static_cast<void>(
      refusal(e, graph, at(e.get_state_history(graph, on("t")).back().checkpoint->id)));
}

BOOST_AUTO_TEST_CASE(whole_state_input_on_updated_thread_is_rejected) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = conversation();
  e.update_state(graph, on("t"), ss::set<&talk::name>("Eve"), "listen");
  static_cast<void>(refusal(e, graph, on("t")));
}

BOOST_AUTO_TEST_CASE(whole_state_inputs_are_accepted_without_checkpointer) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = conversation({});
  for (auto i = 0; i < 2; ++i)
    BOOST_TEST(e.invoke(graph, talk{}, on("t")).state.turns == 1);
}

// Inputs of JSON and channel graphs name what they write.
BOOST_AUTO_TEST_CASE(json_and_channel_inputs_keep_omitted_channels) {
  auto e = ss::engine{{.workers = 1}};
  auto json_form = logging({"a"});
  json_form.channel("name").channel("n", "add").edge("__start__", "a");
  const auto json_graph = json_form.compile(kept());
  static_cast<void>(run(e, json_graph, {{"name", "Ada"}, {"n", 1}}, on("t")));
  BOOST_TEST(run(e, json_graph, {{"n", 1}}, on("t")).state.at("name").as_string() == "Ada");

  auto g = ss::channel_graph{};
  const auto name = g.last_value<std::string>("name", "");
  const auto n = g.last_value<int>("n", 0);
  g.edge(ss::start, g.add("a", ss::reads{}, [=] { return ss::step_result{}; }));
  const auto table = g.compile(kept());
  static_cast<void>(e.try_invoke(table, {name <<= "Ada", n <<= 1}, on("t")));
  const auto ended = e.try_invoke(table, {n <<= 2}, on("t"));
  BOOST_TEST(ss::get(name, ended) == "Ada");
}

BOOST_AUTO_TEST_CASE(per_thread_subgraphs_reject_whole_state_inputs) {
  auto options = ss::compile_options{};
  options.persistence = ss::persistence::per_thread;
  const auto child = conversation(options);
  const auto back = [](const talk& t) { return ss::update{ss::set<&talk::name>(t.name)}; };
  auto whole = ss::graph<talk>{};
  whole
      .add(
          listen, child, [](const talk& t) { return t; }, back)
      .edge(ss::start, listen);
  BOOST_CHECK_EXCEPTION(static_cast<void>(whole.compile(kept())), ss::compile_error, [](auto& e) {
    return e.faults().size() == 1 && e.node() == "listen" &&
           std::string{e.what()}.find("update{") != std::string::npos;
  });

  auto parts = ss::graph<talk>{};
  parts.add(
      listen, child, [](const talk& t) { return greeting{t.lines}; }, back);
  parts.add(
      ask, child, [](const talk&) { return ss::update<talk>{}; }, back);
  parts.edge(ss::start, listen);
  const auto graph = parts.compile(kept());
  auto e = ss::engine{{.workers = 1}};
  BOOST_TEST(e.invoke(graph, talk{}, on("t")).state.name == "Ada");
  BOOST_TEST(e.invoke(graph, greeting{}, on("t")).state.name == "Ada+"); // name is kept
}

BOOST_AUTO_TEST_CASE(per_call_subgraphs_accept_whole_state_inputs) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<talk>{};
  g.add(
      listen, conversation({}), [](const talk&) { return talk{}; },
      [](const talk& t) { return ss::update{ss::set<&talk::name>(t.name)}; });
  g.edge(ss::start, listen);
  const auto graph = g.compile(kept());
  BOOST_TEST(e.invoke(graph, talk{}, on("t")).state.name == "Ada");
  BOOST_TEST(e.invoke(graph, greeting{}, on("t")).state.name == "Ada");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(interrupted_invoke)

namespace {

ss::graph<talk> asking(int questions) {
  auto g = ss::graph<talk>{};
  g.add(ask, [questions](const talk&, ss::runtime rt) -> ss::task<ss::update<talk>> {
    for (auto i = 0; i < questions; ++i)
      co_await rt.interrupt("which way, turn " + std::to_string(i) + '?');
    co_return ss::update<talk>{};
  });
  g.edge(ss::start, ask);
  return g;
}

ss::run_result<talk> invoked(const ss::compiled_graph<talk>& graph) {
  auto e = ss::engine{{.workers = 1}};
  return e.invoke(graph, talk{}, on("t"));
}

} // namespace

BOOST_AUTO_TEST_CASE(invoke_returns_pending_interrupts) {
  const auto graph = asking(1).compile(kept());
  const auto stopped = invoked(graph);
  BOOST_TEST((stopped.status == ss::run_status::interrupted));
  BOOST_TEST_REQUIRE(stopped.interrupts.size() == 1U);
  BOOST_TEST(stopped.interrupts[0].value == "which way, turn 0?");
  auto e = ss::engine{{.workers = 1}};
  const auto pending = e.get_state(graph, on("t")).interrupts();
  BOOST_TEST_REQUIRE(pending.size() == 1U);
  BOOST_TEST(pending[0].id == stopped.interrupts[0].id);
}

BOOST_AUTO_TEST_CASE(invoke_result_distinguishes_breakpoint_from_interrupt) {
  auto options = kept();
  options.interrupt_before = {"ask"};
  const auto at_breakpoint = invoked(asking(0).compile(options));
  BOOST_TEST((at_breakpoint.status == ss::run_status::interrupted));
  BOOST_TEST(at_breakpoint.interrupts.empty());
  BOOST_TEST(invoked(asking(1).compile()).interrupts.size() == 1U);
}

BOOST_AUTO_TEST_CASE(null_interrupt_value_reaches_the_caller) {
  auto g = ss::graph<talk>{};
  g.add(ask, [](const talk&, ss::runtime rt) -> ss::task<ss::update<talk>> {
    co_await rt.interrupt(nullptr);
    co_return ss::update<talk>{};
  });
  const auto graph = g.edge(ss::start, ask).compile(kept());
  auto e = ss::engine{{.workers = 1}};
  BOOST_TEST(e.try_invoke(graph, talk{}, on("t")).interrupts.at(0).value.is_null());
}

BOOST_AUTO_TEST_CASE(answer_resumes_interrupted_thread) {
  const auto graph = asking(1).compile(kept());
  static_cast<void>(invoked(graph));
  auto e = ss::engine{{.workers = 1}};
  BOOST_TEST(e.try_invoke(graph, answer("left"), on("t")).status == ss::run_status::finished);
}

BOOST_AUTO_TEST_SUITE_END()

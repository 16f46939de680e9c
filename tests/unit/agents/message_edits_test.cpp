// SPDX-License-Identifier: Apache-2.0
// Messages that edits and commands add to a thread: their ids, and updates that fail.
#include "checkpoint/sqlite_fixtures.hpp"

#include <superstep/agents/json_messages.hpp>
#include <superstep/checkpoint/sqlite.hpp>
#include <superstep/superstep.hpp>

#include <boost/describe.hpp>
#include <boost/test/unit_test.hpp>

#include <set>
#include <string>

namespace ss = superstep;
namespace json = superstep::json;

BOOST_AUTO_TEST_SUITE(message_edits)

namespace {

struct chat {
  ss::message_list messages;
  using reducers = ss::reducers<ss::by<&chat::messages, ss::add_messages>>;
};
BOOST_DESCRIBE_STRUCT(chat, (), (messages))

constexpr auto bot = ss::node<chat>{"bot"};

ss::run_config on(const std::string& thread) {
  auto config = ss::run_config{};
  config.thread_id = thread;
  return config;
}

ss::update<chat> saying(const std::string& text) {
  auto list = ss::message_list{};
  list.push_back(ss::ai_message(text));
  return ss::update{ss::set<&chat::messages>(list)};
}

ss::compiled_graph<chat> bot_graph(std::shared_ptr<ss::checkpointer> kept) {
  auto g = ss::graph<chat>{};
  g.add(bot, [](const chat&) { return saying("from bot"); });
  g.edge(ss::start, bot);
  return g.compile({.checkpointer = std::move(kept)});
}

std::size_t distinct_ids(const ss::message_list& messages) {
  auto ids = std::set<std::string>{};
  for (const auto& m : messages)
    ids.insert(m.id);
  return ids.size();
}

ss::compiled_json_graph json_graph(std::shared_ptr<ss::checkpointer> kept) {
  auto g = ss::json_graph{};
  g.channel("n", "add").channel("messages", ss::add_json_messages, json::value(json::array{}));
  g.add("bot", [](const json::value&) {
    return json::object{{"messages", json::array{json::object{{"type", "ai"}, {"content", "x"}}}}};
  });
  g.edge("__start__", "bot");
  return g.compile({.checkpointer = std::move(kept)});
}

} // namespace

BOOST_AUTO_TEST_CASE(messages_of_edits_and_commands_have_ids_of_their_own) {
  const auto folder = temporary_folder{};
  auto e = ss::engine{{.workers = 1}};
  for (const auto& kept : {ss::memory_checkpointer(), ss::sqlite_checkpointer(folder.file())}) {
    const auto graph = bot_graph(kept);
    const auto messages = [&] { return e.get_state(graph, on("t")).values->messages; };
    (void)e.invoke(graph, "hi", on("t"));
    (void)e.update_state(graph, on("t"), saying("edit 1"), "bot");
    (void)e.update_state(graph, on("t"), saying("edit 2"), "bot");
    auto said = ss::command<chat>{};
    said.update = saying("command");
    const auto ended = e.invoke(graph, said, on("t"));
    BOOST_TEST(distinct_ids(ended.state.messages) == ended.state.messages.size());
    BOOST_TEST((messages() == ended.state.messages)); // readers make the same ids
    (void)e.invoke(graph, "more", on("t"));
    (void)e.bulk_update_state(
        graph, on("t"),
        {{{.values = saying("x"), .as_node = "bot"}}, {{.values = saying("y"), .as_node = "bot"}}});
    BOOST_TEST(messages().size() == 9U);
    BOOST_TEST(distinct_ids(messages()) == messages().size());
  }
}

BOOST_AUTO_TEST_CASE(json_messages_of_edits_have_ids_of_their_own) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = json_graph(ss::memory_checkpointer());
  (void)e.invoke(graph, json::object{}, on("t"));
  const auto more =
      json::object{{"messages", json::array{json::object{{"type", "ai"}, {"content", "edit"}}}}};
  (void)e.update_state(graph, on("t"), more, "bot");
  const auto state = e.get_state(graph, on("t"));
  const auto messages = ss::messages_of(*state.values);
  BOOST_TEST(messages.size() == 2U);
  BOOST_TEST(distinct_ids(messages) == 2U);
}

BOOST_AUTO_TEST_CASE(json_messages_of_other_forms_are_read_before_ids_are_compared) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::json_graph{};
  g.channel("messages", ss::add_json_messages, json::value(json::array{}));
  g.add("bot", [](const json::value&) {
    return json::object{
        {"messages", json::array{json::object{{"type", "ai"}, {"content", "x"}, {"id", "bot-1"}}}}};
  });
  g.edge("__start__", "bot");
  const auto graph = g.compile();
  const auto held = [&](json::value item) {
    return e.invoke(
        graph,
        json::object{{"messages", json::object{{"__overwrite__", json::array{std::move(item)}}}}});
  };
  BOOST_TEST(ss::messages_of(held("just a text").state).size() == 2U);
  BOOST_TEST(
      ss::messages_of(held({{"type", "human"}, {"content", "a"}, {"id", nullptr}}).state).size() ==
      2U);
}

BOOST_AUTO_TEST_CASE(command_that_fails_leaves_the_thread_usable) {
  const auto folder = temporary_folder{};
  auto e = ss::engine{{.workers = 1}};
  for (const auto& kept : {ss::memory_checkpointer(), ss::sqlite_checkpointer(folder.file())}) {
    const auto graph = json_graph(kept);
    (void)e.invoke(graph, json::object{{"n", 1}}, on("t"));
    auto bad = ss::json_command{};
    bad.update = json::object{{"n", "seven"}};
    BOOST_CHECK_THROW((void)e.invoke(graph, bad, on("t")), ss::graph_error);
    BOOST_TEST(e.get_state(graph, on("t")).values->at("n").as_int64() == 1);
    BOOST_TEST(e.invoke(graph, json::object{{"n", 2}}, on("t")).state.at("n").as_int64() == 3);
  }
}

BOOST_AUTO_TEST_SUITE_END()

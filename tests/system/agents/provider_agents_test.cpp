// SPDX-License-Identifier: Apache-2.0
// Agents whose model is a separate server process: a streamed run with tool calls, in the format of
// each provider.
#include "actors/engine_access.hpp"
#include "system/models/server_process.hpp"
#include "versions.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/models/provider_model.hpp>
#include <superstep/tools/make_tool.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <map>
#include <ostream>
#include <string>

using namespace superstep;
using superstep::testing::react_versions;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(provider_agents)

namespace {

struct shape {
  std::string_view name;
  provider_api api;
};
std::ostream& operator<<(std::ostream& out, const shape& s) {
  return out << s.name;
}
const auto shapes = std::vector<shape>{{"chat completions", provider_api::openai_chat},
                                       {"responses", provider_api::openai_responses},
                                       {"anthropic", provider_api::anthropic},
                                       {"ollama", provider_api::ollama}};

chat_model_ptr make_model(io_runtime& io, const std::string& url, provider_api api) {
  auto options = provider_model_options{};
  options.model = "recorded";
  options.base_url = url;
  options.api_key_env = "";
  options.api = api;
  options.stream = true; // some providers' streamed answers have another format
  auto made = make_provider_model(std::move(options), io,
                                  std::make_shared<model_limits>(model_limits_options{}));
  BOOST_REQUIRE(made.has_value());
  return std::move(*made);
}

struct number {
  int n = 0;
};
BOOST_DESCRIBE_STRUCT(number, (), (n))
struct words {
  std::string text;
};
BOOST_DESCRIBE_STRUCT(words, (), (text))

/// The tools that the server's answers call.
tool_list make_tools() {
  return {make_tool<number>("f", "", [](const number& a) { return a.n + 100; }),
          make_tool<words>("g", "", [](const words& a) { return "said " + a.text; })};
}

/// Events of a stream by node: the number of pieces, and the texts of whole messages.
struct told {
  std::size_t pieces = 0;
  std::string text;  // of the pieces, joined
  std::string whole; // messages of tools, ordered by their ids
};

told read_all(detail::event_stream& events) {
  auto out = told{};
  auto answers =
      std::map<std::string, std::string>{}; // two tasks: the order of their ends is undefined
  while (const auto event = events.next()) {
    if (event->message.holds<message_chunk>()) {
      ++out.pieces;
      out.text += text_of(event->message.as<message_chunk>().part);
    } else {
      const auto& m = event->message.as<message>();
      answers[m.name] = m.content;
    }
  }
  for (const auto& [name, text] : answers)
    out.whole += name + ": " + text + '\n';
  return out;
}

} // namespace

BOOST_DATA_TEST_CASE(agent_streams_server_answers_and_runs_tool_calls,
                     data::make(shapes) * data::make(react_versions), how, version) {
  auto server = test::chat_server{{}, 8};
  auto io = io_runtime{};
  auto options = react_agent_options<chat_state>{};
  options.model = make_model(io, server.url(), how.api);
  options.tools = make_tools();
  options.version = version;
  const auto graph = create_react_agent(std::move(options));
  auto e = engine{engine_options{.workers = 2}};
  auto question = chat_state{};
  question.messages = {human_message("question 7")};
  auto events = detail::engine_access::stream(e, graph, std::move(question), stream_mode::messages);
  const auto said = read_all(events);
  BOOST_TEST(said.pieces > 4U);
  BOOST_TEST(said.text.find("thinking") == 0U, said.text);
  BOOST_TEST(said.text.ends_with("answer 7"), said.text);
  BOOST_TEST(said.whole == "f: 107\ng: said é and more\n");
  BOOST_TEST(!events.result().error.has_value());
}

BOOST_DATA_TEST_CASE(early_tool_results_do_not_change_the_conversation, data::make(shapes), how) {
  auto server = test::chat_server{{}, 8};
  auto io = io_runtime{};
  const auto run = [&](std::vector<std::string> early) {
    auto options = react_agent_options<chat_state>{};
    options.model = make_model(io, server.url(), how.api);
    options.tools = make_tools();
    options.early_tools = std::move(early);
    const auto graph = create_react_agent(std::move(options));
    auto e = engine{engine_options{.workers = 2}};
    auto question = chat_state{};
    question.messages = {human_message("question 3")};
    const auto ended = e.invoke(graph, std::move(question)).state;
    auto out = std::string{};
    for (const auto& m : ended.messages)
      out += m.name + '|' + m.content + '\n';
    return out;
  };
  const auto early = run({"f", "g"});
  BOOST_TEST(early == run({}));
  BOOST_TEST(early.find("f|103\ng|said é and more\n") != std::string::npos, early);
}

BOOST_AUTO_TEST_SUITE_END()

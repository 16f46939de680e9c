// SPDX-License-Identifier: Apache-2.0
// Graphs and agents as tools of another agent: answers, interrupts and failures.
#include "agents/agent_desk.hpp"

#include <superstep/agents/graph_tool.hpp>

#include <boost/test/unit_test.hpp>

using namespace superstep;
using namespace superstep::testing;

BOOST_AUTO_TEST_SUITE(graphs_as_tools)

namespace {

/// A tool that runs another agent, which interrupts if it is `curious`.
tool_ptr expert(const std::shared_ptr<const fake_model>& model, bool curious) {
  auto options = design(model);
  if (curious) {
    auto m = middleware<desk>{};
    m.name = "curious";
    m.before_agent = [](const desk&, runtime rt) -> task<update<desk>> {
      auto asking = rt.interrupt("who asks?");
      const auto answer = co_await asking;
      co_return update{set<&desk::owner>(std::string{answer.as_string()})};
    };
    options.middleware = {std::move(m)};
  }
  return make_graph_tool<echo_args>(
      "ask", "Asks an expert.", built(std::move(options)),
      [](const echo_args& args) {
        auto input = desk{};
        input.messages = {human_message(args.text)};
        return input;
      },
      [](const desk& ended) { return ended.messages.back().content + " for " + ended.owner; });
}

agent_options<desk> asking(bool curious, const std::shared_ptr<const fake_model>& inner) {
  auto options = design(scripted({calling("ask", "c1", "why?"), ai_message("done")}));
  options.tools = {expert(inner, curious)};
  return options;
}

} // namespace

BOOST_AUTO_TEST_CASE(agent_answers_call_of_another_agent) {
  const auto inner = scripted({ai_message("because")});
  const auto ended = run(asking(false, inner));
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(said(ended) == "question\n\nbecause for \ndone");
  BOOST_TEST(inner->asked()[0].messages[0].content == "why?");
}

BOOST_AUTO_TEST_CASE(run_interrupted_by_graph_tool_resumes_with_answer) {
  const auto inner = scripted({ai_message("because")});
  auto talk = conversation{asking(true, inner)};
  const auto stopped = talk.say("question");
  BOOST_REQUIRE(stopped.interrupts.size() == 1U);
  BOOST_TEST(stopped.interrupts.front().value == "who asks?");
  const auto ended = talk.answer("Lee");
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(said(ended) == "question\n\nbecause for Lee\ndone");
  BOOST_TEST(inner->asked().size() == 1U);
}

BOOST_AUTO_TEST_CASE(failed_graph_tool_answers_with_an_error) {
  const auto ended = run(asking(false, scripted({})));
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(ended.state.messages[2].is_error);
  BOOST_TEST(ended.state.messages[2].content.find("the server is on fire") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
#include "agents/agent_desk.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>

using namespace superstep;
using namespace superstep::testing;

BOOST_AUTO_TEST_SUITE(limits_of_calls)

namespace {

/// Calls the tools that are named, in one answer.
message calling_all(std::vector<std::string> tools) {
  auto out = ai_message("");
  auto n = 0;
  for (auto& tool : tools)
    out.tool_calls.push_back(calling(std::move(tool), "c" + std::to_string(++n)).tool_calls[0]);
  return out;
}

agent_options<desk> limited(std::vector<message> answers, middleware<desk> limit) {
  auto options = design(scripted(std::move(answers)));
  options.tools = {echo(), echo("shout")};
  options.middleware = {std::move(limit)};
  return options;
}

/// Never stops calling; its calls have ids of their own.
std::vector<message> endless() {
  auto out = std::vector<message>{};
  for (auto i = 0; i < 20; ++i)
    out.push_back(calling("echo", "c" + std::to_string(i)));
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_run_ends_with_a_message_when_the_model_was_asked_often_enough) {
  const auto ended =
      run(limited(endless(), model_call_limit<&desk::calls>({{}, 2, at_limit::finish})));
  BOOST_TEST(why(ended) == "");
  BOOST_REQUIRE(ended.state.messages.size() == 6U);
  BOOST_TEST(ended.state.messages.back().content == "Model call limits exceeded: run limit (2/2)");
  BOOST_TEST(ended.state.calls.run.at("model") == 2);
}

BOOST_AUTO_TEST_CASE(or_it_fails) {
  const auto ended =
      run(limited(endless(), model_call_limit<&desk::calls>({1, 3, at_limit::fail})));
  BOOST_TEST(why(ended).find("Model call limits exceeded: thread limit (1/1)") !=
             std::string::npos);
  BOOST_TEST(ended.state.messages.size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_run_counts_anew_and_a_thread_goes_on_counting) {
  auto talk = conversation{
      limited({ai_message("hello")}, model_call_limit<&desk::calls>({2, 1, at_limit::finish}))};
  BOOST_TEST(talk.say("one").state.messages.back().content == "hello");
  BOOST_TEST(talk.say("two").state.messages.back().content == "hello");
  const auto third = talk.say("three");
  BOOST_TEST(third.state.messages.back().content ==
             "Model call limits exceeded: thread limit (2/2)");
  BOOST_TEST(third.state.calls.thread.at("model") == 2);
}

BOOST_AUTO_TEST_CASE(calls_of_tools_beyond_the_limit_are_answered_and_the_others_are_made) {
  const auto ended =
      run(limited({calling_all({"echo", "shout", "echo"}), ai_message("done")},
                  tool_call_limit<&desk::calls>({"echo", {}, 1, at_limit::proceed})));
  BOOST_TEST(why(ended) == "");
  BOOST_REQUIRE(ended.state.messages.size() == 6U);
  auto by_id = std::map<std::string, message>{};
  for (const auto& m : ended.state.messages)
    by_id[m.tool_call_id] = m;
  BOOST_TEST(by_id.at("c1").content == "x");
  BOOST_TEST(by_id.at("c2").content == "x");
  BOOST_TEST(by_id.at("c3").content == "Tool call limit exceeded. Do not call 'echo' again.");
  BOOST_TEST(by_id.at("c3").is_error);
  BOOST_TEST(ended.state.messages.back().content == "done");
  // A thread counts what was called, a run also what was tried.
  BOOST_TEST(ended.state.calls.thread.at("tool echo") == 1);
  BOOST_TEST(ended.state.calls.run.at("tool echo") == 2);
}

BOOST_AUTO_TEST_CASE(a_limit_of_tools_may_end_the_run_and_no_call_stays_without_an_answer) {
  const auto ended = run(limited({calling_all({"echo", "shout"}), ai_message("never")},
                                 tool_call_limit<&desk::calls>({{}, 1, {}, at_limit::finish})));
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(said(ended) == "question\n\n"
                            "Tool call limit exceeded. Do not make additional tool calls.\n"
                            "Tool call limit exceeded. Do not make additional tool calls.\n"
                            "Tool call limit reached: thread limit exceeded (2/1 calls).");
}

BOOST_AUTO_TEST_CASE(a_limit_of_one_tool_cannot_end_the_run_while_others_are_called) {
  const auto ended = run(limited({calling_all({"echo", "echo", "shout"})},
                                 tool_call_limit<&desk::calls>({"echo", {}, 1, at_limit::finish})));
  BOOST_TEST(why(ended).find("Cannot end execution with other tool calls pending. Found calls to: "
                             "shout.") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_limit_of_tools_may_fail_the_run) {
  const auto ended = run(limited({calling_all({"echo", "echo"})},
                                 tool_call_limit<&desk::calls>({"echo", {}, 1, at_limit::fail})));
  BOOST_TEST(why(ended).find("'echo' tool call limit reached: run limit exceeded (2/1 calls).") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(limits_share_a_field) {
  auto options = limited(endless(), tool_call_limit<&desk::calls>({{}, {}, 1, at_limit::proceed}));
  options.middleware.push_back(tool_call_limit<&desk::calls>({"echo", {}, 9, at_limit::proceed}));
  options.middleware.push_back(model_call_limit<&desk::calls>({{}, 3, at_limit::finish}));
  const auto ended = run(std::move(options));
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(ended.state.calls.run.at("tools") == 3);
  BOOST_TEST(ended.state.calls.run.at("tool echo") == 3);
  BOOST_TEST(ended.state.calls.run.at("model") == 3);
}

BOOST_AUTO_TEST_CASE(options_without_a_limit_are_refused) {
  BOOST_CHECK_THROW(static_cast<void>(model_call_limit<&desk::calls>({})), std::invalid_argument);
  BOOST_CHECK_THROW(static_cast<void>(tool_call_limit<&desk::calls>({})), std::invalid_argument);
  BOOST_CHECK_THROW(static_cast<void>(model_call_limit<&desk::calls>({1, {}, at_limit::proceed})),
                    std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

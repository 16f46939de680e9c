// SPDX-License-Identifier: Apache-2.0
// Middleware that limits calls of models and tools per run and per thread.
#include "agents/agent_desk.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <stdexcept>

using namespace superstep;
using namespace superstep::testing;

BOOST_AUTO_TEST_SUITE(call_limits)

namespace {

/// Returns an answer that calls all named tools.
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

/// Returns endless tool calls with distinct ids.
std::vector<message> endless() {
  auto out = std::vector<message>{};
  for (auto i = 0; i < 20; ++i)
    out.push_back(calling("echo", "c" + std::to_string(i)));
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(run_ends_with_message_at_model_call_limit) {
  const auto ended =
      run(limited(endless(), model_call_limit<&desk::calls>({{}, 2, at_limit::finish})));
  BOOST_TEST(why(ended) == "");
  BOOST_REQUIRE(ended.state.messages.size() == 6U);
  BOOST_TEST(ended.state.messages.back().content == "Model call limits exceeded: run limit (2/2)");
  BOOST_TEST(ended.state.calls.run.at("model") == 2);
}

BOOST_AUTO_TEST_CASE(run_fails_at_model_call_limit_if_configured) {
  const auto ended =
      run(limited(endless(), model_call_limit<&desk::calls>({1, 3, at_limit::fail})));
  BOOST_TEST(why(ended).find("Model call limits exceeded: thread limit (1/1)") !=
             std::string::npos);
  BOOST_TEST(ended.state.messages.size() == 3U);
}

BOOST_AUTO_TEST_CASE(new_run_resets_only_the_run_counter) {
  auto talk = conversation{
      limited({ai_message("hello")}, model_call_limit<&desk::calls>({2, 1, at_limit::finish}))};
  BOOST_TEST(talk.say("one").state.messages.back().content == "hello");
  BOOST_TEST(talk.say("two").state.messages.back().content == "hello");
  const auto third = talk.say("three");
  BOOST_TEST(third.state.messages.back().content ==
             "Model call limits exceeded: thread limit (2/2)");
  BOOST_TEST(third.state.calls.thread.at("model") == 2);
}

BOOST_AUTO_TEST_CASE(tool_calls_above_limit_get_error_answers) {
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
  // The thread counts executed calls; the run also counts attempted calls.
  BOOST_TEST(ended.state.calls.thread.at("tool echo") == 1);
  BOOST_TEST(ended.state.calls.run.at("tool echo") == 2);
}

BOOST_AUTO_TEST_CASE(tool_limit_answers_open_calls_and_ends_run) {
  const auto stopped = std::string{"Execution stopped before this tool call could run because "
                                   "another tool call in the same batch exceeded the limit.\n"};
  const auto all = run(limited({calling_all({"echo", "shout"}), ai_message("never")},
                               tool_call_limit<&desk::calls>({{}, 1, {}, at_limit::finish})));
  BOOST_TEST(why(all) == "");
  BOOST_TEST(said(all) == "question\n\n"
                          "Tool call limit exceeded. Do not make additional tool calls.\n" +
                              stopped +
                              "Tool call limit reached: thread limit exceeded (2/1 calls).");
  BOOST_TEST(all.state.calls.thread.at("tools") == 0); // no call was made
  BOOST_TEST(all.state.calls.run.at("tools") == 2);
  const auto one = run(limited({calling_all({"echo", "echo", "shout"}), ai_message("never")},
                               tool_call_limit<&desk::calls>({"echo", {}, 1, at_limit::finish})));
  BOOST_TEST(why(one) == "");
  BOOST_TEST(said(one) == "question\n\nTool call limit exceeded. Do not call 'echo' again.\n" +
                              stopped + stopped +
                              "'echo' tool call limit reached: run limit exceeded (2/1 calls).");
}

BOOST_AUTO_TEST_CASE(run_fails_at_tool_call_limit_if_configured) {
  const auto ended = run(limited({calling_all({"echo", "echo"})},
                                 tool_call_limit<&desk::calls>({"echo", {}, 1, at_limit::fail})));
  BOOST_TEST(why(ended).find("'echo' tool call limit reached: run limit exceeded (2/1 calls).") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(several_call_limits_count_in_one_state_field) {
  auto options = limited(endless(), tool_call_limit<&desk::calls>({{}, {}, 1, at_limit::proceed}));
  options.middleware.push_back(tool_call_limit<&desk::calls>({"echo", {}, 9, at_limit::proceed}));
  options.middleware.push_back(model_call_limit<&desk::calls>({{}, 3, at_limit::finish}));
  const auto ended = run(std::move(options));
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(ended.state.calls.run.at("tools") == 3);
  BOOST_TEST(ended.state.calls.run.at("tool echo") == 3);
  BOOST_TEST(ended.state.calls.run.at("model") == 3);
}

BOOST_AUTO_TEST_CASE(call_refused_by_two_limits_has_one_answer) {
  for (const auto reaction : {at_limit::proceed, at_limit::finish}) {
    auto options = limited({calling_all({"echo", "echo"}), ai_message("done")},
                           tool_call_limit<&desk::calls>({{}, {}, 1, reaction}));
    options.middleware.push_back(tool_call_limit<&desk::calls>({"echo", {}, 1, at_limit::proceed}));
    const auto ended = run(std::move(options));
    BOOST_TEST(why(ended) == "");
    BOOST_TEST(ended.state.messages.size() == 5U);
    const auto& messages = ended.state.messages;
    BOOST_TEST(std::ranges::count_if(messages.begin(), messages.end(),
                                     [](const message& m) { return m.tool_call_id == "c2"; }) == 1);
  }
}

BOOST_AUTO_TEST_CASE(rejected_calls_have_no_second_answer_at_tool_limit) {
  auto which = review_options{};
  which.tools = {"shout"};
  auto options = limited({calling_all({"echo", "echo", "shout"})},
                         tool_call_limit<&desk::calls>({"echo", {}, 1, at_limit::finish}));
  options.middleware.push_back(human_in_the_loop(std::move(which)));
  auto talk = conversation{std::move(options)};
  static_cast<void>(talk.say("question"));
  // The rejected call of another tool is not open, so it gets no second answer.
  const auto ended = talk.answer(parse_json(R"({"type":"ignore","args":"no"})").value());
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(said(ended) == "question\n\nno\n"
                            "Tool call limit exceeded. Do not call 'echo' again.\n"
                            "Execution stopped before this tool call could run because another "
                            "tool call in the same batch exceeded the limit.\n"
                            "'echo' tool call limit reached: run limit exceeded (2/1 calls).");
}

BOOST_AUTO_TEST_CASE(invalid_call_limit_options_are_rejected) {
  BOOST_CHECK_THROW(static_cast<void>(model_call_limit<&desk::calls>({})), std::invalid_argument);
  BOOST_CHECK_THROW(static_cast<void>(tool_call_limit<&desk::calls>({})), std::invalid_argument);
  BOOST_CHECK_THROW(static_cast<void>(model_call_limit<&desk::calls>({1, {}, at_limit::proceed})),
                    std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

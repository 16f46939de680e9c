// SPDX-License-Identifier: Apache-2.0
// The loop of a model with tools: calls, step limit, faults and model errors.
#include "protocols/tool_loop.hpp"

#include <superstep/base/await.hpp>
#include <superstep/models/chat_model.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(tool_loop)

namespace {

/// Answers by turn; repeats the last answer for all later turns.
class turns_model final : public chat_model {
public:
  explicit turns_model(std::vector<message> answers) : answers_{std::move(answers)} {}
  task<result<message>> complete(model_request request) const override {
    if (answers_.empty())
      co_return error{model_errc::server_error, "the server is on fire"};
    co_return answers_[std::min<std::size_t>(request.turn, answers_.size() - 1)];
  }
  std::string fingerprint() const override { return "turns"; }

private:
  std::vector<message> answers_;
};

task<result<std::string>> run_call(tool_call call) {
  if (call.args.contains("fail"))
    co_return error{errc::not_found, "no such city"};
  co_return "sunny in " + to_text(call.args.at("city"));
}

result<tool_loop_result> run(std::vector<message> answers, tool_loop_options options = {}) {
  auto request = model_request{};
  request.tools = std::make_shared<const std::vector<tool_definition>>(
      std::vector<tool_definition>{{"weather", "", {}}, {"time", "", {}}});
  request.messages.push_back(human_message("?"));
  return sync_wait(run_tool_loop(std::make_shared<const turns_model>(std::move(answers)),
                                 std::move(request), run_call, options));
}

message calling(std::string name, json::object args) {
  return ai_message("", {{"c1", std::move(name), std::move(args)}});
}

} // namespace

BOOST_AUTO_TEST_CASE(runs_calls_until_an_answer_has_none) {
  const auto got = run({calling("weather", {{"city", "Seoul"}}), ai_message("Sunny.")}).value();
  BOOST_TEST((got.end == tool_loop_end::answered));
  BOOST_TEST(got.steps == 2U);
  BOOST_TEST_REQUIRE(got.messages.size() == 4U);
  BOOST_TEST(got.messages[2].content == "sunny in \"Seoul\"");
  BOOST_TEST(got.messages[2].tool_call_id == "c1");
  BOOST_TEST(got.messages.back().content == "Sunny.");
}

BOOST_AUTO_TEST_CASE(stops_at_the_step_limit_and_reports_it) {
  const auto endless = std::vector{calling("weather", {{"city", "Seoul"}})};
  const auto got = run(endless).value();
  BOOST_TEST((got.end == tool_loop_end::step_limit));
  BOOST_TEST(got.steps == 5U);
  BOOST_TEST(got.messages.size() == 11U, "the calls of the last step are answered, too");
  BOOST_TEST(run(endless, {.steps_max = 1}).value().steps == 1U);
}

BOOST_AUTO_TEST_CASE(each_unsuccessful_call_gets_an_error_message) {
  auto broken = ai_message("");
  broken.invalid_tool_calls = {{"c2", "weather", "{", "no JSON"}};
  const auto got =
      run({calling("weather", {{"fail", true}}), calling("fly", {}), broken, ai_message("Sorry.")})
          .value();
  auto errors = std::vector<std::string>{};
  for (const auto& m : got.messages)
    if (m.type == message_type::tool && m.is_error)
      errors.push_back(m.content);
  BOOST_TEST_REQUIRE(errors.size() == 3U);
  BOOST_TEST(errors[0] == "no such city");
  BOOST_TEST(errors[1] == "unknown tool \"fly\"; available: weather, time");
  BOOST_TEST(errors[2] == "the arguments cannot be read: no JSON");
}

BOOST_AUTO_TEST_CASE(model_error_ends_the_loop) {
  BOOST_TEST(run({}).error().text == "the server is on fire");
}

BOOST_AUTO_TEST_SUITE_END()

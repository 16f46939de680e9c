// SPDX-License-Identifier: Apache-2.0
// Middleware around calls: retries, model fallbacks and human review.
#include "actors/engine_access.hpp"
#include "agents/agent_desk.hpp"

#include <superstep/agents/prebuilt_middleware.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <stdexcept>

using namespace superstep;
using namespace superstep::testing;

namespace middleware_calls_test {

namespace {

/// Fails the given number of times before it answers.
class moody_model final : public chat_model {
public:
  explicit moody_model(int failures, model_errc kind = model_errc::server_error,
                       bool tells_pieces = false)
      : left_{failures}, kind_{kind}, tells_pieces_{tells_pieces} {}

  task<result<message>> complete(model_request request) const override {
    ++asked_;
    if (tells_pieces_ && request.on_chunk)
      request.on_chunk(message_chunk{});
    if (left_-- > 0)
      co_return error{kind_, "not now"};
    co_return ai_message("hello");
  }
  std::string fingerprint() const override { return "moody"; }
  [[nodiscard]] int asked() const { return asked_; }

private:
  mutable std::atomic<int> left_;
  mutable std::atomic<int> asked_ = 0;
  model_errc kind_;
  bool tells_pieces_;
};

/// Answers questions, and fails the given number of times before it gives a structured response.
class moody_responder final : public chat_model {
public:
  explicit moody_responder(int failures) : left_{failures} {}
  task<result<message>> complete(model_request request) const override {
    const auto is_by_tool = request.parameters.contains("tool_choice");
    if (!request.format && !is_by_tool)
      co_return ai_message("hello");
    ++asked_;
    if (left_-- > 0)
      co_return error{model_errc::server_error, "not now"};
    co_return is_by_tool ? ai_message("", {{"c", "Answer", {}}}) : ai_message("{}");
  }
  std::string fingerprint() const override { return "moody"; }
  [[nodiscard]] int asked() const { return asked_; } ///< calls for a response

private:
  mutable std::atomic<int> left_;
  mutable std::atomic<int> asked_ = 0;
};

retry_options at_once(bool then_throw = false) {
  auto out = retry_options{};
  out.policy.initial_interval = std::chrono::milliseconds{0};
  out.policy.jitter = false;
  out.then_throw = then_throw;
  return out;
}

/// Throws the given number of times before it answers.
tool_ptr moody_tool(std::shared_ptr<std::atomic<int>> left) {
  return make_tool<echo_args>("moody", "", [left](const echo_args& a) {
    if ((*left)-- > 0)
      throw std::runtime_error{"not now"};
    return a.text;
  });
}

agent_options<desk> with(chat_model_ptr model, message_middleware m) {
  auto options = design(std::move(model));
  options.middleware = {std::move(m)};
  return options;
}

} // namespace

BOOST_AUTO_TEST_SUITE(call_retries)

BOOST_AUTO_TEST_CASE(failed_model_call_is_retried) {
  const auto model = std::make_shared<const moody_model>(2);
  const auto ended = run(with(model, model_retry(at_once())));
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(ended.state.messages.back().content == "hello");
  BOOST_TEST(model->asked() == 3);
}

BOOST_AUTO_TEST_CASE(retry_options_decide_whether_exhausted_retries_fail_run) {
  const auto kind = model_errc::server_error;
  auto ended = run(with(std::make_shared<const moody_model>(9, kind), model_retry(at_once())));
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(ended.state.messages.back().content.starts_with(
      "Model call failed after 3 attempts with Error: not now"));
  ended = run(with(std::make_shared<const moody_model>(9, kind), model_retry(at_once(true))));
  BOOST_TEST(why(ended).find("not now") != std::string::npos);
  auto worded = at_once();
  worded.words = [](const std::exception&) { return std::string{"I am not well."}; };
  ended = run(with(std::make_shared<const moody_model>(9, kind), model_retry(std::move(worded))));
  BOOST_TEST(ended.state.messages.back().content == "I am not well.");
}

BOOST_AUTO_TEST_CASE(failure_text_never_becomes_structured_response) {
  const auto model = std::make_shared<const moody_model>(9);
  auto options = with(model, model_retry(at_once()));
  options.response = response_format{{{"type", "object"}, {"title", "Answer"}}};
  options.response->retries = 2;
  const auto ended = run(std::move(options));
  BOOST_TEST(why(ended).find("not now") != std::string::npos);
  BOOST_TEST(model->asked() == 3);
}

BOOST_AUTO_TEST_CASE(separate_response_call_passes_the_middleware) {
  const auto ends = [](const chat_model_ptr& model, structured_method method,
                       middleware<desk> wrapper) {
    auto options = design(model);
    options.middleware = {std::move(wrapper)};
    options.response = response_format{{{"type", "object"}, {"title", "Answer"}}};
    options.response->request = response_request::separate;
    options.response->method = method;
    return run(std::move(options));
  };
  for (const auto method : {structured_method::json_schema, structured_method::tool_call}) {
    const auto recovers = std::make_shared<const moody_responder>(2);
    auto ended = ends(recovers, method, model_retry(at_once()));
    BOOST_TEST(why(ended) == "");
    BOOST_TEST(to_text(ended.state.structured_response) == "{}");
    BOOST_TEST(recovers->asked() == 3);
    const auto broken = std::make_shared<const moody_responder>(9);
    ended = ends(broken, method, model_retry(at_once()));
    BOOST_TEST(why(ended).find("not now") != std::string::npos, why(ended));
    BOOST_TEST(broken->asked() == 3);
    const auto other = std::make_shared<const moody_responder>(0);
    ended = ends(broken, method, model_fallback({other}));
    BOOST_TEST(to_text(ended.state.structured_response) == "{}");
    BOOST_TEST(other->asked() == 1);
    const auto listed = std::make_shared<const moody_responder>(0);
    ended = ends(listed, method, todo_list<&desk::todos>()); // offers no tool, describes none
    BOOST_TEST(to_text(ended.state.structured_response) == "{}");
  }
}

BOOST_AUTO_TEST_CASE(permanent_errors_are_not_retried) {
  const auto model = std::make_shared<const moody_model>(9, model_errc::unauthorized);
  const auto ended = run(with(model, model_retry(at_once())));
  BOOST_TEST(why(ended).find("not now") != std::string::npos, why(ended)); // no text replaces it
  BOOST_TEST(model->asked() == 1);
}

BOOST_AUTO_TEST_CASE(partially_streamed_answer_is_not_retried) {
  const auto model = std::make_shared<const moody_model>(9, model_errc::server_error, true);
  auto options = with(model, model_retry(at_once()));
  options.middleware.push_back(model_fallback({scripted({ai_message("other")})}));
  const auto agent = built(std::move(options));
  auto lanes = engine{engine_options{.workers = 1}};
  auto state = desk{};
  state.messages = {human_message("question")};
  auto events =
      detail::engine_access::stream(lanes, agent, std::move(state), stream_mode::messages);
  const auto read_all = [&] {
    while (events.next()) {
    }
  };
  BOOST_CHECK_THROW(read_all(), graph_error);
  BOOST_TEST(model->asked() == 1);
}

BOOST_AUTO_TEST_CASE(fallback_models_are_tried_in_order_after_failure) {
  const auto tired = std::make_shared<const moody_model>(9);
  const auto fresh = scripted({ai_message("I am here")});
  auto ended = run(with(std::make_shared<const moody_model>(9), model_fallback({tired, fresh})));
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(ended.state.messages.back().content == "I am here");
  BOOST_TEST(tired->asked() == 1);
  BOOST_TEST(fresh->asked()[0].tools->at(0).name == "echo");
  ended = run(with(std::make_shared<const moody_model>(9), model_fallback({tired})));
  BOOST_TEST(why(ended).find("not now") != std::string::npos);
  BOOST_CHECK_THROW(static_cast<void>(model_fallback({})), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(throwing_tool_is_retried_up_to_the_limit) {
  auto left = std::make_shared<std::atomic<int>>(2);
  auto options =
      with(scripted({calling("moody", "c1"), ai_message("done")}), tool_retry(at_once()));
  options.tools = {moody_tool(left)};
  const auto again = options;
  auto ended = run(options);
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(ended.state.messages[2].content == "x");
  *left = 9;
  ended = run(again);
  BOOST_TEST(ended.state.messages[2].content ==
             "Tool 'moody' failed after 3 attempts with Error: not now. Please try again.");
  BOOST_TEST(ended.state.messages[2].is_error);
  BOOST_TEST(*left == 6);
}

BOOST_AUTO_TEST_CASE(failures_excluded_by_retry_on_are_thrown) {
  auto retry = at_once();
  retry.policy.retry_on = [](const std::exception_ptr&) { return false; };
  const auto model = std::make_shared<const moody_model>(9);
  BOOST_TEST(why(run(with(model, model_retry(retry)))).find("not now") != std::string::npos);
  BOOST_TEST(model->asked() == 1);
  auto left = std::make_shared<std::atomic<int>>(9);
  auto options = with(scripted({calling("moody", "c1"), ai_message("done")}), tool_retry(retry));
  auto node = tool_node_options{};
  node.errors = tool_errors::bad_calls();
  options.tools = tool_node{{moody_tool(left)}, node};
  BOOST_TEST(why(run(std::move(options))).find("not now") != std::string::npos);
  BOOST_TEST(*left == 8);
}

BOOST_AUTO_TEST_CASE(only_named_tools_are_retried) {
  auto left = std::make_shared<std::atomic<int>>(9);
  auto options =
      with(scripted({calling("moody", "c1"), ai_message("done")}), tool_retry(at_once(), {"echo"}));
  options.tools = {moody_tool(left)};
  const auto ended = run(std::move(options));
  BOOST_TEST(ended.state.messages[2].content == "Error: not now\n Please fix your mistakes.");
  BOOST_TEST(*left == 8);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(human_review)

namespace {

message three_calls() {
  auto out = calling("echo", "c1", "one");
  out.tool_calls.push_back(calling("shout", "c2", "two").tool_calls[0]);
  out.tool_calls.push_back(calling("echo", "c3", "three").tool_calls[0]);
  return out;
}

conversation reviewed(review_options which) {
  auto options =
      with(scripted({three_calls(), ai_message("done")}), human_in_the_loop(std::move(which)));
  options.tools = {echo(), echo("shout")};
  return conversation{std::move(options)};
}

} // namespace

BOOST_AUTO_TEST_CASE(all_calls_of_answer_are_reviewed_together) {
  auto talk = reviewed({});
  const auto stopped = talk.say("question");
  BOOST_REQUIRE(stopped.interrupts.size() == 1U);
  BOOST_REQUIRE(stopped.interrupts.front().value.as_array().size() == 3U);
  const auto first = human_interrupt_from_json(stopped.interrupts.front().value.at(0)).value();
  BOOST_TEST(first.action.args.at("text") == "one");
  const auto ended =
      talk.answer(parse_json(R"([{"type":"edit","args":{"action":"shout","args":{"text":"ONE"}}},)"
                             R"({"type":"ignore"},{"type":"response","args":"no, four"}])")
                      .value());
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(said(ended) == "question\n\n"
                            "User rejected the tool call for `shout` with id c2\n"
                            "no, four\nONE\ndone");
  BOOST_TEST(ended.state.messages[1].tool_calls[0].name == "shout");
  BOOST_TEST(ended.state.messages[2].is_error);
}

BOOST_AUTO_TEST_CASE(reason_of_rejection_becomes_result_of_call) {
  auto talk = reviewed({});
  static_cast<void>(talk.say("question"));
  const auto ended =
      talk.answer(parse_json(R"([{"type":"ignore","args":"too expensive"},{"type":"ignore"},)"
                             R"({"type":"accept"}])")
                      .value());
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(said(ended) == "question\n\ntoo expensive\n"
                            "User rejected the tool call for `shout` with id c2\nthree\ndone");
  BOOST_TEST(ended.state.messages[2].is_error);
}

BOOST_AUTO_TEST_CASE(edits_change_the_reviewed_of_calls_with_one_id) {
  auto twice = calling("echo", "c1", "one");
  twice.tool_calls.push_back(calling("echo", "c1", "two").tool_calls[0]);
  auto talk = conversation{with(scripted({twice, ai_message("done")}), human_in_the_loop({}))};
  static_cast<void>(talk.say("question"));
  const auto ended = talk.answer(
      parse_json(
          R"([{"type":"accept"},{"type":"edit","args":{"action":"echo","args":{"text":"TWO"}}}])")
          .value());
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(said(ended) == "question\n\none\nTWO\ndone");
}

BOOST_AUTO_TEST_CASE(accepted_action_may_repeat_numbers_in_another_form) {
  auto counted = calling("echo", "c1", "one");
  counted.tool_calls[0].args["times"] =
      json::array{2.0, json::object{{"of", 9'007'199'254'740'993}}};
  auto talk = conversation{with(scripted({counted, ai_message("done")}), human_in_the_loop({}))};
  static_cast<void>(talk.say("question"));
  const auto ended =
      talk.answer(parse_json(R"({"type":"accept","args":{"action":"echo",)"
                             R"("args":{"times":[2,{"of":9007199254740992}],"text":"one"}}})")
                      .value());
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(ended.state.messages.back().content == "done");
}

BOOST_AUTO_TEST_CASE(model_continues_when_all_calls_are_rejected) {
  auto talk = reviewed({});
  static_cast<void>(talk.say("question"));
  const auto ended =
      talk.answer(parse_json(R"([{"type":"ignore"},{"type":"ignore"},{"type":"ignore"}])").value());
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(ended.state.messages.size() == 6U);
  BOOST_TEST(ended.state.messages.back().content == "done");
}

BOOST_AUTO_TEST_CASE(only_named_tools_need_human_review) {
  auto which = review_options{};
  which.tools = {"shout"};
  auto talk = reviewed(std::move(which));
  const auto stopped = talk.say("question");
  BOOST_REQUIRE((stopped.status == run_status::interrupted));
  BOOST_TEST(stopped.interrupts.front().value.as_array().size() == 1U);
  const auto ended = talk.answer(parse_json(R"({"type":"accept"})").value());
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(said(ended) == "question\n\none\ntwo\nthree\ndone");
}

BOOST_AUTO_TEST_CASE(invalid_review_responses_fail_run) {
  auto which = review_options{};
  which.config.allow_ignore = false;
  for (const auto& [answer, text] :
       {std::pair{R"([{"type":"accept"}])",
                  "Number of human decisions (1) does not match number of hanging tool calls (3)."},
        std::pair{R"([{"type":"accept"},{"type":"ignore"},{"type":"accept"}])",
                  "the review does not allow this type of answer"},
        std::pair{R"([{"type":"edit"},{"type":"accept"},{"type":"accept"}])",
                  "an edit requires the changed action as args"},
        std::pair{R"([{"type":"response"},{"type":"accept"},{"type":"accept"}])",
                  "a response requires a text as args"},
        std::pair{R"([{"type":"accept","args":"no"},{"type":"accept"},{"type":"accept"}])",
                  "an accepted call has no text; use a response or an edit"},
        std::pair{R"([{"type":"accept","args":{"action":"echo","args":{"text":"ONE"}}},)"
                  R"({"type":"accept"},{"type":"accept"}])",
                  "the action differs from the call; use an edit to change the call"}}) {
    auto talk = reviewed(which);
    static_cast<void>(talk.say("question"));
    const auto ended = talk.answer(parse_json(answer).value());
    BOOST_TEST(why(ended).find(text) != std::string::npos);
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace middleware_calls_test

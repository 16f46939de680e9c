// SPDX-License-Identifier: Apache-2.0
// create_agent() with middleware: hooks, wraps, jumps, interrupts, structured responses, timeouts.
#include "agents/agent_desk.hpp"

#include <superstep/agents/prebuilt_middleware.hpp>
#include <superstep/base/await.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>

using namespace superstep;
using namespace superstep::testing;

BOOST_AUTO_TEST_SUITE(agents_with_middleware)

namespace {

/// Ordered log of events, written by hooks and wraps.
class diary {
public:
  void note(std::string what) const {
    const auto lock = std::scoped_lock{mutex_};
    entries_.push_back(std::move(what));
  }
  [[nodiscard]] std::string text() const {
    const auto lock = std::scoped_lock{mutex_};
    auto out = std::string{};
    for (const auto& entry : entries_)
      out += (out.empty() ? "" : " ") + entry;
    return out;
  }

private:
  mutable std::mutex mutex_;
  mutable std::vector<std::string> entries_;
};

/// Middleware that logs every hook and wrap.
middleware<desk> noting(const std::string& name, const diary& all) {
  auto out = middleware<desk>{};
  out.name = name;
  const auto hook = [&all, name](const char* when) {
    return [&all, text = name + '.' + when](const desk&, runtime) { all.note(text); };
  };
  out.before_agent = hook("before_agent");
  out.before_model = hook("before_model");
  out.after_model = hook("after_model");
  out.after_agent = hook("after_agent");
  out.wrap_model_call = [&all, name](model_call call, model_ask ask) -> task<message> {
    all.note(name + "(");
    auto asking = ask(std::move(call));
    auto answer = co_await asking;
    all.note(")" + name);
    co_return answer;
  };
  out.wrap_tool_call = [&all, name](tool_request request,
                                    tool_execute execute) -> task<tool_answer> {
    all.note(name + "[");
    auto running = execute(std::move(request));
    auto answer = co_await running;
    all.note("]" + name);
    co_return answer;
  };
  return out;
}

/// Middleware that jumps once from the given hook.
middleware<desk> jumping(middleware_hook<desk> middleware<desk>::*when, jump to,
                         std::vector<jump> declared) {
  auto out = middleware<desk>{};
  out.name = "jumper";
  out.*when = {[to](const desk& state, runtime) {
                 if (state.visits > 0)
                   return hook_step<desk>{};
                 return hook_step<desk>{update{set<&desk::visits>(1)}, to};
               },
               std::move(declared)};
  return out;
}

/// Waits until it is cancelled.
task<std::string> never() {
  auto waiting = await_callback<int>([](const completer<int>&) {});
  co_await waiting;
  co_return std::string{"it ended after all"};
}

} // namespace

BOOST_AUTO_TEST_CASE(model_and_tools_alternate_without_middleware) {
  const auto model = scripted({calling("echo", "c1"), ai_message("done")});
  auto options = design(model);
  options.name = "clerk";
  const auto ended = run(std::move(options));
  BOOST_REQUIRE(!ended.error);
  BOOST_REQUIRE(ended.state.messages.size() == 4U);
  BOOST_TEST(ended.state.messages[2].content == "x");
  BOOST_TEST(ended.state.messages[3].name == "clerk");
  BOOST_TEST(model->asked()[0].tools->at(0).name == "echo");
}

BOOST_AUTO_TEST_CASE(answers_may_use_ids_of_earlier_calls) {
  const auto again = calling("echo", "c1");
  const auto model = scripted({again, again, again, ai_message("done")});
  auto options = design(model);
  const auto all = diary{};
  options.middleware = {noting("a", all)}; // its hooks make the loop look for pending calls
  const auto ended = run(std::move(options));
  BOOST_REQUIRE(!ended.error);
  BOOST_TEST(ended.state.messages.size() == 8U);
  BOOST_TEST(ended.state.messages.back().content == "done");
}

BOOST_AUTO_TEST_CASE(middlewares_nest_with_the_first_one_outermost) {
  const auto all = diary{};
  auto options = design(scripted({calling("echo", "c1"), ai_message("done")}));
  options.middleware = {noting("a", all), noting("b", all)};
  const auto ended = run(std::move(options));
  BOOST_REQUIRE(!ended.error);
  BOOST_TEST(all.text() ==
             "a.before_agent b.before_agent "
             "a.before_model b.before_model a( b( )b )a b.after_model a.after_model a[ b[ ]b ]a "
             "a.before_model b.before_model a( b( )b )a b.after_model a.after_model "
             "b.after_agent a.after_agent");
}

BOOST_AUTO_TEST_CASE(model_call_wrapper_changes_request_and_response) {
  const auto model = scripted({ai_message("hello")});
  auto options = design(model);
  auto m = middleware<desk>{};
  m.name = "polite";
  m.wrap_model_call = [](const desk& state, model_call call, model_ask ask,
                         runtime) -> task<message> {
    call.system = std::make_shared<const message>(system_message("You work for " + state.owner));
    call.parameters["temperature"] = 0;
    auto asking = ask(std::move(call));
    auto answer = co_await asking;
    answer.content += ", please";
    co_return answer;
  };
  options.middleware = {std::move(m)};
  const auto ended = run(std::move(options));
  BOOST_REQUIRE(!ended.error);
  BOOST_TEST(ended.state.messages.back().content == "hello, please");
  BOOST_TEST(model->asked()[0].system->content == "You work for Kim");
  BOOST_TEST(model->asked()[0].parameters.at("temperature") == 0);
}

BOOST_AUTO_TEST_CASE(wrappers_answer_without_calling_model_or_tool) {
  const auto model = scripted({ai_message("never asked")});
  auto options = design(model);
  auto m = middleware<desk>{};
  m.name = "stand-in";
  m.wrap_model_call = [](const desk& state, model_call, model_ask, runtime) -> task<message> {
    co_return state.messages.size() == 1 ? calling("echo", "c1") : ai_message("done");
  };
  m.wrap_tool_call = [](tool_request request, tool_execute) -> task<tool_answer> {
    auto out = tool_answer{};
    out.answer = std::make_shared<const message>(tool_message("made up", request.call.id, "echo"));
    co_return out;
  };
  options.middleware = {std::move(m)};
  const auto ended = run(std::move(options));
  BOOST_REQUIRE(!ended.error);
  BOOST_TEST(ended.state.messages[2].content == "made up");
  BOOST_TEST(ended.state.messages.size() == 4U);
  BOOST_TEST(model->asked().empty());
}

BOOST_AUTO_TEST_CASE(after_agent_hooks_run_despite_jump_to_end) {
  const auto all = diary{};
  const auto model = scripted({ai_message("never asked")});
  for (auto when : {&middleware<desk>::before_agent, &middleware<desk>::before_model}) {
    auto options = design(model);
    options.middleware = {noting("a", all), jumping(when, jump::finish, {jump::finish})};
    const auto ended = run(std::move(options));
    BOOST_TEST(why(ended) == "");
    BOOST_TEST(ended.state.messages.size() == 1U);
  }
  BOOST_TEST(all.text() == "a.before_agent a.after_agent "
                           "a.before_agent a.before_model a.after_agent");
  BOOST_TEST(model->asked().empty());
}

BOOST_AUTO_TEST_CASE(jump_to_model_calls_hooks_and_model_again) {
  const auto all = diary{};
  auto options = design(scripted({ai_message("first"), ai_message("second")}));
  options.middleware = {noting("a", all),
                        jumping(&middleware<desk>::after_model, jump::model, {jump::model})};
  const auto ended = run(std::move(options));
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(ended.state.messages.back().content == "second");
  // The jump skips the hooks that would have followed.
  BOOST_TEST(all.text() == "a.before_agent a.before_model a( )a a.before_model a( )a "
                           "a.after_model a.after_agent");
}

BOOST_AUTO_TEST_CASE(jump_to_tools_runs_calls_of_latest_answer) {
  auto options = design(scripted({ai_message("unused"), ai_message("done")}));
  auto m = middleware<desk>{};
  m.name = "presenter";
  m.before_agent = {[](const desk&, runtime) {
                      auto out = hook_step<desk>{};
                      out.update.add(set<&desk::messages>({calling("echo", "c1", "at once")}));
                      out.to = jump::tools;
                      return out;
                    },
                    {jump::tools}};
  options.middleware = {std::move(m)};
  const auto ended = run(std::move(options));
  BOOST_TEST(why(ended) == "");
  BOOST_REQUIRE(ended.state.messages.size() == 4U);
  BOOST_TEST(ended.state.messages[2].content == "at once");
  BOOST_TEST(ended.state.messages[3].content == "done");
}

BOOST_AUTO_TEST_CASE(tool_calls_answered_by_hook_do_not_run) {
  auto options = design(scripted({calling("echo", "c1"), ai_message("done")}));
  auto m = middleware<desk>{};
  m.name = "refuser";
  m.after_model = [](const desk& state, runtime) -> task<update<desk>> {
    auto answers = message_list{};
    for (const auto& call : state.messages.back().tool_calls)
      answers.push_back(tool_message("refused", call.id, call.name));
    co_return update{set<&desk::messages>(std::move(answers))};
  };
  options.middleware = {std::move(m)};
  const auto ended = run(std::move(options));
  BOOST_TEST(why(ended) == "");
  BOOST_REQUIRE(ended.state.messages.size() == 4U);
  BOOST_TEST(ended.state.messages[2].content == "refused");
}

BOOST_AUTO_TEST_CASE(middleware_tools_become_agent_tools) {
  const auto model = scripted({calling("shout", "c1"), ai_message("done")});
  auto options = design(model);
  auto m = middleware<desk>{};
  m.name = "loud";
  m.tools = {echo("shout")};
  options.middleware = {std::move(m)};
  const auto ended = run(std::move(options));
  BOOST_REQUIRE(!ended.error);
  BOOST_TEST(ended.state.messages[2].name == "shout");
  BOOST_TEST(model->asked()[0].tools->size() == 2U);
}

BOOST_AUTO_TEST_CASE(return_direct_tool_ends_loop_when_called_alone) {
  auto both = calling("echo", "c1");
  both.tool_calls.push_back(calling("shout", "c2").tool_calls[0]);
  for (const auto& [answer, messages] :
       {std::pair{calling("echo", "c1"), 3U}, std::pair{both, 5U}}) {
    auto options = design(scripted({answer, ai_message("done")}));
    options.tools = {echo(), echo("shout")};
    options.return_direct = {"echo"};
    const auto ended = run(std::move(options));
    BOOST_REQUIRE(!ended.error);
    BOOST_TEST(ended.state.messages.size() == messages);
  }
}

BOOST_AUTO_TEST_CASE(tool_that_gives_the_result_decides_about_return_direct) {
  auto options = design(scripted({calling("echo", "c1"), ai_message("done")}));
  options.tools = {echo(), echo("shout")};
  options.return_direct = {"shout"};
  auto redirects = middleware<desk>{};
  redirects.name = "redirects";
  redirects.wrap_tool_call = [](tool_request request, const tool_execute& execute) {
    request.call.name = "shout";
    return execute(std::move(request));
  };
  options.middleware = {redirects};
  const auto ended = run(std::move(options));
  BOOST_TEST(why(ended) == "");
  BOOST_REQUIRE(ended.state.messages.size() == 3U);
  BOOST_TEST(ended.state.messages[2].name == "shout");
}

BOOST_AUTO_TEST_CASE(request_answers_earlier_calls_that_could_not_be_parsed) {
  auto broken = ai_message("");
  broken.invalid_tool_calls = {{"c2", "echo", "{\"text", "not complete"}};
  auto half = calling("echo", "c1");
  half.invalid_tool_calls = broken.invalid_tool_calls;
  for (const auto& first : {broken, half}) { // without and with another call that runs
    const auto model = scripted({first, ai_message("done")});
    auto talk = conversation{design(model)};
    static_cast<void>(talk.say("question"));
    const auto ended = talk.say("again");
    BOOST_TEST(why(ended) == "");
    BOOST_TEST(ended.state.messages.back().content == "done");
    const auto request = model->asked().back();
    BOOST_REQUIRE(request.messages.size() > 3U);
    BOOST_TEST(request.messages[2].tool_call_id == "c2");
    BOOST_TEST(request.messages[2].is_error);
    BOOST_TEST(request.messages[2].content.find("not complete") != std::string::npos);
    BOOST_TEST(ended.state.messages[2].tool_call_id != "c2"); // the state is not changed
  }
}

BOOST_AUTO_TEST_CASE(run_without_response_does_not_return_an_earlier_one) {
  auto options =
      design(scripted({ai_message(R"({"city":"Oslo"})"), calling("echo", "c1"), ai_message("{}")}));
  options.return_direct = {"echo"};
  options.response = response_format{{{"type", "object"}, {"title", "Answer"}}};
  auto talk = conversation{std::move(options)};
  BOOST_TEST(to_text(talk.say("one").state.structured_response) == R"({"city":"Oslo"})");
  BOOST_TEST(talk.say("two").state.structured_response.is_null());
  BOOST_TEST(to_text(talk.say("three").state.structured_response) == "{}");
}

BOOST_AUTO_TEST_CASE(tool_call_in_place_of_separate_response_is_invalid) {
  for (const auto retries : {0U, 1U}) {
    const auto model =
        scripted({ai_message("done"), calling("echo", "c1"), ai_message(R"({"city":"Oslo"})")});
    auto options = design(model);
    options.response = response_format{{{"type", "object"}, {"title", "Answer"}}};
    options.response->request = response_request::separate;
    options.response->retries = retries;
    const auto ended = run(std::move(options));
    BOOST_TEST((why(ended) == "") == (retries == 1U));
    if (retries == 0U)
      BOOST_TEST(why(ended).find("the answer calls a tool") != std::string::npos, why(ended));
    else
      BOOST_TEST(to_text(ended.state.structured_response) == R"({"city":"Oslo"})");
  }
}

BOOST_AUTO_TEST_CASE(structured_response_is_parsed_from_final_answer) {
  const auto model = scripted({calling("echo", "c1"), ai_message(R"({"city":"Oslo"})")});
  auto options = design(model);
  options.response = response_format{{{"type", "object"},
                                      {"title", "Answer"},
                                      {"properties", {{"city", {{"type", "string"}}}}},
                                      {"required", {"city"}}}};
  const auto bad = [&] {
    auto copy = options;
    copy.model = scripted({ai_message(R"({"town":"Oslo"})")});
    return copy;
  }();
  const auto ended = run(std::move(options));
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(ended.state.structured_response.at("city") == "Oslo");
  BOOST_TEST(ended.state.messages.size() == 4U);
  BOOST_TEST(model->asked()[0].format->name == "Answer");
  BOOST_TEST((model->asked()[0].format->mode == answer_mode::json_schema));
  BOOST_TEST(why(run(bad)).find("the model's structured response") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(json_mode_responses_are_checked_against_the_schema) {
  for (const auto is_right : {true, false}) {
    const auto model = scripted({ai_message(is_right ? R"({"city":"Oslo"})" : R"({"town":1})")});
    auto options = design(model);
    options.response = response_format{
        {{"type", "object"}, {"required", {"city"}}}, {}, structured_method::json_object};
    const auto ended = run(std::move(options));
    BOOST_TEST((model->asked()[0].format->mode == answer_mode::json_object));
    BOOST_TEST((why(ended) == "") == is_right);
  }
}

BOOST_AUTO_TEST_CASE(tool_calls_of_all_runs_share_one_limit) {
  auto inside = std::atomic<int>{0};
  auto most = std::atomic<int>{0};
  const auto enter = [&](const echo_args&) -> task<std::string> {
    const auto now = ++inside;
    for (auto seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    auto rest = sleep_for{std::chrono::milliseconds{1}};
    co_await rest;
    --inside;
    co_return "done";
  };
  auto asking = ai_message("");
  for (auto i = 0; i < 8; ++i)
    asking.tool_calls.push_back({"c" + std::to_string(i), "busy", {{"text", "x"}}});
  auto options = design(scripted({asking, ai_message("done")}));
  options.tools = {make_tool<echo_args>("busy", "", enter)};
  options.tool_calls_at_once = 3;
  const auto ended = run(std::move(options));
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(ended.state.messages.size() == 11U);
  BOOST_TEST(most == 3);
}

BOOST_AUTO_TEST_CASE(zero_limit_of_concurrent_tool_calls_is_rejected) {
  auto options = design(scripted({}));
  options.tools = {echo()};
  options.tool_calls_at_once = 0;
  BOOST_CHECK_THROW(static_cast<void>(create_agent(std::move(options))), compile_error);
}

BOOST_AUTO_TEST_CASE(create_agent_rejects_structured_responses_by_tool_call) {
  auto options = design(scripted({}));
  options.response =
      response_format{{{"type", "object"}, {"title", "Answer"}}, {}, structured_method::tool_call};
  BOOST_CHECK_EXCEPTION(static_cast<void>(create_agent(options)), compile_error, [](const auto& e) {
    return std::string_view{e.what()}.find("use json_schema or json_object") !=
           std::string_view::npos;
  });
  options.rules = agent_rules::create_react_agent;
  BOOST_CHECK_NO_THROW(static_cast<void>(create_agent(options)));
}

BOOST_AUTO_TEST_CASE(interrupted_hook_resumes_with_the_given_answer) {
  const auto model = scripted({ai_message("done")});
  auto options = design(model);
  auto m = middleware<desk>{};
  m.name = "guard";
  m.before_model = [](const desk&, runtime rt) -> task<update<desk>> {
    auto asking = rt.interrupt("who is it?");
    const auto answer = co_await asking;
    co_return update{set<&desk::owner>(std::string{answer.as_string()})};
  };
  options.middleware = {std::move(m)};
  auto talk = conversation{std::move(options)};
  const auto stopped = talk.say("question");
  BOOST_REQUIRE(stopped.interrupts.size() == 1U);
  const auto ended = talk.answer("Lee");
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(ended.state.owner == "Lee");
  BOOST_TEST(model->asked().size() == 1U);
}

BOOST_AUTO_TEST_CASE(sibling_of_reviewed_call_runs_only_once) {
  auto both = calling("echo", "c1", "one");
  both.tool_calls.push_back(calling("shout", "c2", "two").tool_calls[0]);
  auto runs = std::make_shared<std::atomic<int>>(0);
  auto options = design(scripted({both, ai_message("done")}));
  options.tools = {make_tool<echo_args>("echo", "",
                                        [runs](const echo_args& a) {
                                          ++*runs;
                                          return a.text;
                                        }),
                   echo("shout")};
  auto m = middleware<desk>{};
  m.name = "review";
  auto which = review_options{};
  which.tools = {"shout"};
  m.wrap_tool_call = review_calls(std::move(which));
  options.middleware = {std::move(m)};
  auto talk = conversation{std::move(options)};
  const auto stopped = talk.say("question");
  BOOST_REQUIRE(stopped.interrupts.size() == 1U);
  const auto ended = talk.answer(parse_json(R"([{"type":"accept"}])").value());
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(said(ended) == "question\n\none\ntwo\ndone");
  BOOST_TEST(*runs == 1);
}

BOOST_AUTO_TEST_CASE(tool_timeout_gives_error_without_affecting_sibling_calls) {
  auto both = calling("stuck", "c1");
  both.tool_calls.push_back(calling("echo", "c2").tool_calls[0]);
  auto options = design(scripted({both, ai_message("done")}));
  options.tools = {make_tool<echo_args>("stuck", "", [](const echo_args&) { return never(); }),
                   echo()};
  options.tool_timeouts["stuck"] = std::chrono::milliseconds{20};
  const auto ended = run(std::move(options));
  BOOST_TEST(why(ended) == "");
  BOOST_REQUIRE(ended.state.messages.size() == 5U);
  BOOST_TEST(ended.state.messages[2].is_error);
  BOOST_TEST(
      ended.state.messages[2].content.starts_with("Error: the call of tool 'stuck' was stopped: "));
  BOOST_TEST(ended.state.messages[3].content == "x");
  BOOST_TEST(ended.state.messages[4].content == "done");
}

BOOST_AUTO_TEST_CASE(drawing_shows_declared_jumps_as_edges) {
  auto options = design(scripted({ai_message("done")}));
  options.middleware = {jumping(&middleware<desk>::before_model, jump::finish, {jump::finish}),
                        model_call_limit<&desk::calls>({{}, 5})};
  const auto text = built(std::move(options)).mermaid();
  for (const auto* edge :
       {"jumper\\2ebefore_model -.-> ModelCallLimitMiddleware\\2ebefore_model",
        "jumper\\2ebefore_model -.-> __end__", "tools --> jumper\\2ebefore_model"})
    BOOST_TEST(text.find(edge) != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(invalid_middleware_names_and_jumps_are_rejected) {
  const auto refusal = [](middleware<desk> one, bool twice = false) -> std::string {
    auto options = design(scripted({ai_message("done")}));
    options.tools = {};
    options.middleware = {one};
    if (twice)
      options.middleware.push_back(one);
    try {
      return why(run(std::move(options)));
    } catch (const compile_error& e) {
      return e.what();
    }
  };
  auto plain = middleware<desk>{};
  BOOST_TEST(refusal(plain) == "a middleware has no name; set middleware::name, because its "
                               "nodes get this name");
  plain.name = "a";
  BOOST_TEST(refusal(plain, true) == "two middlewares have the name 'a'; names must be unique");
  const auto before = &middleware<desk>::before_model;
  BOOST_TEST(refusal(jumping(before, jump::tools, {jump::tools})) ==
             "hook 'jumper.before_model' declares a jump to 'tools', which the agent does not "
             "have");
  BOOST_TEST(refusal(jumping(before, jump::finish, {}))
                 .find("hook 'jumper.before_model' jumps to 'end'") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

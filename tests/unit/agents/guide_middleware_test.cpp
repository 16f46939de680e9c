// SPDX-License-Identifier: Apache-2.0
// The code of docs/prebuilt.md about agents with middleware.
#include "agents/agent_desk.hpp"

//! [includes]
#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/prebuilt_middleware.hpp>
//! [includes]

#include <boost/test/unit_test.hpp>

using namespace superstep;
using namespace superstep::testing;

BOOST_AUTO_TEST_SUITE(middleware_guide)

namespace {

middleware<desk> greeter() {
  //! [own]
  auto greets = middleware<desk>{};
  greets.name = "Greeter";
  greets.before_agent = {
      [](const desk& state, runtime) { return state.owner.empty() ? jump::finish : jump::none; },
      {jump::finish}}; // possible targets of the hook's jumps
  greets.wrap_model_call = [](const desk& state, model_call call, model_ask ask,
                              runtime) -> task<message> {
    call.system = std::make_shared<const message>(system_message("Greet " + state.owner));
    auto asking = ask(std::move(call)); // call it any number of times, or not at all
    auto answer = co_await asking;
    co_return answer;
  };
  //! [own]
  return greets;
}

agent_options<desk> everything(chat_model_ptr model, chat_model_ptr small) {
  //! [ready]
  auto options = agent_options<desk>{};
  options.model = model;
  options.tools = {echo()};
  auto summary = summarisation_options{};
  summary.model = small;
  summary.tokens_max = 8'000;
  auto mails = pii_options{};
  mails.kind = "email";
  options.middleware = {
      pii(mails),
      summarisation(summary),
      human_in_the_loop({.tools = {"book"}}),
      model_call_limit<&desk::calls>({.run_max = 10}),
      tool_call_limit<&desk::calls>({.tool = "search", .run_max = 3}),
      todo_list<&desk::todos>(),
      context_editing({.tokens_max = 50'000, .keep = 5}),
      model_retry(),
      model_fallback({small}),
      tool_retry(),
  };
  //! [ready]
  return options;
}

} // namespace

BOOST_AUTO_TEST_CASE(custom_middleware_changes_prompt_and_ends_run) {
  const auto model = scripted({ai_message("Hello, Kim")});
  auto options = design(model);
  options.middleware = {greeter()};
  const auto agent = built(std::move(options));
  auto lanes = engine{engine_options{.workers = 1}};
  auto nobody = desk{};
  nobody.messages = {human_message("hi")};
  BOOST_TEST(lanes.invoke(agent, nobody).state.messages.size() == 1U);
  nobody.owner = "Kim";
  BOOST_TEST(lanes.invoke(agent, nobody).state.messages.size() == 2U);
  BOOST_TEST(model->asked()[0].system->content == "Greet Kim");
}

BOOST_AUTO_TEST_CASE(agent_with_all_prebuilt_middleware_completes_its_run) {
  const auto model = scripted({calling("echo", "c1", "kim@a.org"), ai_message("done")});
  const auto ended = run(everything(model, scripted({ai_message("short")})));
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(ended.state.messages.back().content == "done");
  BOOST_TEST(ended.state.calls.run.at("model") == 2);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// create_react_agent() over a user-defined state: hooks, prompts, structured responses, model
// choice, interrupts and reviews.
#include "agents/fake_model.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/json_agent.hpp>
#include <superstep/agents/prebuilt_middleware.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/tools/make_tool.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>

using namespace superstep;
using superstep::testing::fake_model;

namespace superstep {
std::ostream& operator<<(std::ostream& out, react_version v);
} // namespace superstep

// A named namespace, because g++ 12 warns about coroutine frames over types without linkage.
namespace desk_agent {

/// A user-defined state.
struct front_desk {
  message_list messages;
  message_list llm_input_messages;
  json::value structured_response;
  std::string owner;
  int visits = 0;

  using reducers = superstep::reducers<by<&front_desk::messages, add_messages>,
                                       by<&front_desk::visits, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(front_desk, (),
                      (messages, llm_input_messages, structured_response, owner, visits))

} // namespace desk_agent

using desk_agent::front_desk;

namespace create_react_agent_test {

namespace {

namespace data = boost::unit_test::data;
const auto versions = std::vector<react_version>{react_version::v1, react_version::v2};

struct echo_args {
  std::string text;
};
BOOST_DESCRIBE_STRUCT(echo_args, (), (text))

tool_ptr echo(std::string name = "echo") {
  return make_tool<echo_args>(std::move(name), "Says it again.",
                              [](const echo_args& a) { return a.text; });
}

/// Writes fields of the state and returns what it read from it.
class visiting_tool final : public tool {
public:
  visiting_tool() {
    definition_.name = "visit";
    definition_.parameters = {{"type", "object"}, {"properties", json::object{}}};
  }
  const tool_definition& definition() const noexcept override { return definition_; }
  std::vector<injection> injections() const override {
    return {{"owner", injection::source::field, "owner", {}}};
  }
  task<tool_output> run(const tool_call& call, const tool_context&) const override {
    auto said = tool_command{};
    auto written = tool_update{};
    written.fields["visits"] = 2;
    written.messages.emplace().push_back(
        tool_message("seen " + std::string{call.args.at("owner").as_string()}, call.id, "visit"));
    said.update = std::move(written);
    auto out = tool_output{};
    out.reply = tool_reply{std::move(said)};
    co_return out;
  }

private:
  tool_definition definition_;
};

message calling(std::string tool, std::string id, std::string text = "x") {
  auto call = tool_call{std::move(id), std::move(tool), {}};
  call.args["text"] = text;
  return ai_message("", {std::move(call)});
}

std::shared_ptr<const fake_model> scripted(std::vector<message> answers) {
  return std::make_shared<const fake_model>(std::move(answers));
}

react_agent_options<front_desk> options_for(std::shared_ptr<const fake_model> model,
                                            react_version version) {
  auto out = react_agent_options<front_desk>{};
  out.model = std::move(model);
  out.tools = {echo()};
  out.version = version;
  return out;
}

run_result<front_desk> run(react_agent_options<front_desk> options, run_config config = {}) {
  auto state = front_desk{};
  state.messages = {human_message("question")};
  state.owner = "Kim";
  auto lanes = engine{engine_options{.workers = 1}};
  return lanes.try_invoke(create_react_agent(std::move(options)), std::move(state),
                          std::move(config));
}

std::string text_of_refusal(react_agent_options<front_desk> options) {
  try {
    static_cast<void>(create_react_agent(std::move(options)));
  } catch (const compile_error& e) {
    return e.what();
  }
  return "it was built";
}

} // namespace

BOOST_DATA_TEST_CASE(agent_runs_on_user_defined_state, data::make(versions), version) {
  const auto model = scripted({calling("echo", "c1"), ai_message("done")});
  const auto ended = run(options_for(model, version));
  BOOST_REQUIRE(!ended.error);
  BOOST_TEST(ended.state.messages.size() == 4U);
  BOOST_TEST(ended.state.messages[2].content == "x");
  BOOST_TEST(ended.state.owner == "Kim");
  BOOST_TEST(model->asked()[0].tools->at(0).name == "echo");
}

BOOST_DATA_TEST_CASE(pre_model_hook_replaces_messages_and_writes_state, data::make(versions),
                     version) {
  const auto model = scripted({calling("echo", "c1"), ai_message("done")});
  auto options = options_for(model, version);
  options.pre_model_hook = [](const front_desk& state, runtime) {
    auto chosen = message_list{human_message("only this")};
    return update{set<&front_desk::llm_input_messages>(std::move(chosen)),
                  set<&front_desk::visits>(static_cast<int>(state.messages.size()))};
  };
  const auto ended = run(std::move(options));
  BOOST_REQUIRE(!ended.error);
  BOOST_TEST(model->asked()[1].messages.size() == 1U);
  BOOST_TEST(ended.state.messages.size() == 4U);
  BOOST_TEST(ended.state.visits == 1 + 3);
}

BOOST_AUTO_TEST_CASE(post_model_hook_answers_calls_instead_of_tools) {
  const auto model = scripted({calling("echo", "c1"), ai_message("done")});
  auto options = options_for(model, react_version::v2);
  options.post_model_hook = [](const front_desk& state, runtime) {
    auto answers = message_list{};
    for (const auto& call : state.messages.back().tool_calls)
      answers.push_back(tool_message("refused", call.id, call.name));
    return update{set<&front_desk::messages>(std::move(answers))};
  };
  const auto ended = run(std::move(options));
  BOOST_REQUIRE(!ended.error);
  BOOST_REQUIRE(ended.state.messages.size() == 4U);
  BOOST_TEST(ended.state.messages[2].content == "refused");
  BOOST_TEST(ended.state.messages[3].content == "done");
}

BOOST_DATA_TEST_CASE(prompt_function_computes_model_messages_from_state, data::make(versions),
                     version) {
  const auto model = scripted({ai_message("hello")});
  auto options = options_for(model, version);
  options.prompt = [](const front_desk& state, const runtime&) {
    return message_list{system_message("You work for " + state.owner), state.messages[0]};
  };
  BOOST_REQUIRE(!run(std::move(options)).error);
  const auto asked = model->asked();
  BOOST_REQUIRE(asked[0].messages.size() == 2U);
  BOOST_TEST(asked[0].messages[0].content == "You work for Kim");
  BOOST_TEST(!asked[0].system);
}

BOOST_DATA_TEST_CASE(structured_response_comes_from_a_separate_model_call, data::make(versions),
                     version) {
  const auto model = scripted({ai_message("Oslo"), ai_message("{\"city\":\"Oslo\"}")});
  auto options = options_for(model, version);
  options.response_format = response_format{
      {{"type", "object"}, {"title", "Answer"}, {"properties", {{"city", {{"type", "string"}}}}}},
      "Extract."};
  const auto ended = run(std::move(options));
  BOOST_REQUIRE(!ended.error);
  BOOST_TEST(ended.state.structured_response.at("city") == "Oslo");
  BOOST_TEST(ended.state.messages.size() == 2U);
  const auto asked = model->asked();
  BOOST_REQUIRE(asked[1].format);
  BOOST_TEST(asked[1].format->name == "Answer");
  BOOST_TEST(asked[1].system->content == "Extract.");
}

BOOST_DATA_TEST_CASE(json_mode_sends_schema_unless_prompt_is_given, data::make(versions), version) {
  for (const auto* prompt : {"", "Give the city as JSON."}) {
    const auto model = scripted({ai_message("Oslo"), ai_message("{\"city\":\"Oslo\"}")});
    auto options = options_for(model, version);
    options.response_format = response_format{
        {{"type", "object"}, {"required", {"city"}}}, prompt, structured_method::json_object};
    const auto ended = run(std::move(options));
    BOOST_REQUIRE(!ended.error);
    BOOST_TEST(ended.state.structured_response.at("city") == "Oslo");
    const auto asked = model->asked();
    BOOST_REQUIRE(asked[1].system);
    const auto& system = asked[1].system->content;
    BOOST_TEST((asked[1].format->mode == answer_mode::json_object));
    if (*prompt != '\0')
      BOOST_TEST(system == prompt);
    else
      BOOST_TEST(system.find(R"({"type":"object","required":["city"]})") != std::string::npos,
                 system);
  }
}

BOOST_DATA_TEST_CASE(tools_read_and_write_state_fields, data::make(versions), version) {
  auto options = options_for(scripted({calling("visit", "c1"), ai_message("done")}), version);
  options.tools = {std::make_shared<const visiting_tool>()};
  const auto ended = run(std::move(options));
  BOOST_REQUIRE(!ended.error);
  BOOST_TEST(ended.state.visits == 2);
  BOOST_TEST(ended.state.messages[2].content == "seen Kim");
}

BOOST_DATA_TEST_CASE(return_direct_tool_ends_the_run, data::make(versions), version) {
  auto options = options_for(scripted({calling("echo", "c1", "42")}), version);
  options.return_direct = {"echo"};
  const auto ended = run(std::move(options));
  BOOST_REQUIRE(!ended.error);
  BOOST_TEST(ended.state.messages.back().content == "42");
}

BOOST_AUTO_TEST_CASE(model_function_that_binds_unknown_tool_fails_run) {
  const auto choose = [](tool_list tools) {
    auto options = options_for(nullptr, react_version::v2);
    const auto bound =
        bind_tools(scripted({ai_message("hi")}), tool_node{std::move(tools)}.definitions()).value();
    options.model = [bound](const front_desk&, const runtime&) { return bound; };
    return options;
  };
  BOOST_TEST(!run(choose({echo()})).error);
  const auto ended = run(choose({echo("shout")}));
  BOOST_REQUIRE(ended.error);
  BOOST_TEST(describe(ended.error->cause).find("'shout'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(model_bound_to_other_tools_is_rejected) {
  auto options = options_for(nullptr, react_version::v2);
  options.model = bind_tools(scripted({}), tool_node{{echo("shout")}}.definitions()).value();
  BOOST_TEST(
      text_of_refusal(options) ==
      "the model is not bound to the agent's tools 'echo'; bind exactly the agent's tools, or "
      "pass a model without tools");
  options.tools = {echo(), echo("shout")};
  BOOST_TEST(
      text_of_refusal(options) ==
      "the model is bound to 1 tools, but the agent has 2; bind exactly the agent's tools, or "
      "pass a model without tools");
}

BOOST_AUTO_TEST_CASE(create_react_agent_rejects_inconsistent_options) {
  auto late = options_for(scripted({}), react_version::v1);
  late.post_model_hook = [](const front_desk&, runtime) {};
  BOOST_TEST(text_of_refusal(late).starts_with("post_model_hook requires version v2"));
  auto direct = options_for(scripted({}), react_version::v2);
  direct.return_direct = {"nope"};
  BOOST_TEST(text_of_refusal(direct) == "return_direct: 'nope' is not a tool of the agent");
  auto stops = options_for(scripted({}), react_version::v2);
  stops.interrupt_before = {"nope"};
  BOOST_TEST(text_of_refusal(stops) == "Interrupt node `nope` not found");
  BOOST_TEST(react_version_from("v3").error().text ==
             "Invalid version v3. Supported versions are 'v1' and 'v2'.");
}

BOOST_DATA_TEST_CASE(breakpoint_before_tools_interrupts_run_until_resumed, data::make(versions),
                     version) {
  auto options = options_for(scripted({calling("echo", "c1"), ai_message("done")}), version);
  options.checkpointer = memory_checkpointer();
  options.interrupt_before = {"tools"};
  const auto graph = create_react_agent(std::move(options));
  auto lanes = engine{engine_options{.workers = 1}};
  auto config = run_config{};
  config.thread_id = "t";
  auto state = front_desk{};
  state.messages = {human_message("question")};
  const auto stopped = lanes.try_invoke(graph, std::move(state), config);
  BOOST_REQUIRE((stopped.status == run_status::interrupted));
  BOOST_TEST(stopped.state.messages.size() == 2U);
  const auto ended = lanes.try_invoke(graph, resume(), config);
  BOOST_REQUIRE(!ended.error);
  BOOST_TEST(ended.state.messages.back().content == "done");
}

BOOST_DATA_TEST_CASE(history_with_unanswered_call_is_rejected, data::make(versions), version) {
  auto lanes = engine{engine_options{.workers = 1}};
  auto state = front_desk{};
  state.messages = {human_message("q"), calling("echo", "h1")};
  const auto ended =
      lanes.try_invoke(create_react_agent(options_for(scripted({}), version)), std::move(state));
  BOOST_REQUIRE(ended.error);
  BOOST_TEST(describe(ended.error->cause).starts_with("tool calls of the messages have no answer"));
  BOOST_TEST(describe(ended.error->cause).find("answer pending interrupts with resume()") !=
             std::string::npos);
}

namespace {

struct review_case {
  std::string_view answer;
  std::string_view content;
};
std::ostream& operator<<(std::ostream& out, const review_case& c) {
  return out << c.answer;
}
const auto reviews = std::vector<review_case>{
    {R"([{"type":"accept"}])", "x"},
    {R"({"type":"accept"})", "x"},
    {R"([{"type":"edit","args":{"action":"echo","args":{"text":"y"}}}])", "y"},
    {R"([{"type":"response","args":"no thanks"}])", "no thanks"},
    {R"([{"type":"ignore"}])", "The call was ignored."},
    {R"([{"type":"edit","args":{"action":"shout","args":{}}}])",
     "Error: ValueError(\"invalid answer to a review: the call of 'echo' cannot be changed to "
     "a call of 'shout'\")\n Please fix your mistakes."},
    {R"([{"type":"accept","args":{"action":"echo","args":{"text":"x"}}}])", "x"},
    {R"([{"type":"ignore","args":"too late"}])", "The call was ignored: too late"},
    {R"([{"type":"ignore","args":""}])", "The call was ignored."},
    {R"([{"type":"accept","args":{"action":"echo","args":{"text":"y"}}}])",
     "Error: ValueError('invalid answer to a review: the action differs from the call; use an edit "
     "to change the call')\n Please fix your mistakes."},
    {R"([{"type":"accept","args":"no"}])",
     "Error: ValueError('invalid answer to a review: an accepted call has no text; use a response "
     "or an edit')\n Please fix your mistakes."},
    {R"([{"type":"edit"}])", "Error: ValueError('invalid answer to a review: an edit requires the "
                             "changed action as args')\n Please fix your mistakes."},
    {R"([{"type":"edit","args":"y"}])",
     "Error: ValueError('invalid answer to a review: an edit requires the changed action as "
     "args')\n Please fix your mistakes."},
    {R"([{"type":"response"}])", "Error: ValueError('invalid answer to a review: a response "
                                 "requires a text as args')\n Please fix your mistakes."},
    {R"([{"type":"response","args":{"action":"echo","args":{"text":"y"}}}])",
     "Error: ValueError('invalid answer to a review: a response requires a text as args')\n "
     "Please fix your mistakes."},
};

} // namespace

BOOST_DATA_TEST_CASE(review_decision_determines_the_tool_result,
                     data::make(versions) * data::make(reviews), version, c) {
  auto node = tool_node_options{};
  node.wrap_call = review_calls();
  auto options = options_for(scripted({calling("echo", "c1"), ai_message("done")}), version);
  options.tools = tool_node{{echo()}, std::move(node)};
  options.checkpointer = memory_checkpointer();
  const auto graph = create_react_agent(std::move(options));
  auto lanes = engine{engine_options{.workers = 1}};
  auto config = run_config{};
  config.thread_id = "t";
  auto state = front_desk{};
  state.messages = {human_message("question")};
  const auto stopped = lanes.try_invoke(graph, std::move(state), config);
  BOOST_REQUIRE(stopped.interrupts.size() == 1U);
  const auto asked = human_interrupt_from_json(stopped.interrupts.front().value.at(0)).value();
  BOOST_TEST(asked.action.action == "echo");
  BOOST_TEST(asked.action.args.at("text") == "x");
  auto said = resume(parse_json(c.answer).value());
  const auto ended = lanes.try_invoke(graph, std::move(said), config);
  BOOST_REQUIRE(!ended.error);
  BOOST_REQUIRE(ended.state.messages.size() == 4U);
  BOOST_TEST(ended.state.messages[2].content == c.content);
  BOOST_TEST(ended.state.messages[2].tool_call_id == "c1");
}

BOOST_AUTO_TEST_CASE(only_named_tools_are_reviewed) {
  auto node = tool_node_options{};
  auto which = review_options{};
  which.tools = {"shout"};
  node.wrap_call = review_calls(std::move(which));
  auto options =
      options_for(scripted({calling("echo", "c1"), ai_message("done")}), react_version::v2);
  options.tools = tool_node{{echo(), echo("shout")}, std::move(node)};
  const auto ended = run(std::move(options));
  BOOST_REQUIRE(!ended.error);
  BOOST_TEST((ended.status != run_status::interrupted));
  BOOST_TEST(ended.state.messages[2].content == "x");
}

} // namespace create_react_agent_test

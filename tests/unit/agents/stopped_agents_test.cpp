// SPDX-License-Identifier: Apache-2.0
// Agents stopped in the middle. An interrupt of a review, a hook or a tool ends with the same
// result as an uninterrupted run. A cancelled run leaves a history in which every call is answered.
#include "agents/agent_desk.hpp"

#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/json_agent.hpp>
#include <superstep/agents/json_messages.hpp>
#include <superstep/agents/open_calls.hpp>
#include <superstep/agents/prebuilt_middleware.hpp>
#include <superstep/base/await.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/threads/snapshot.hpp>
#include <superstep/tools/tool_wrappers.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <future>
#include <ostream>

namespace superstep {
std::ostream& operator<<(std::ostream& out, react_version v); // defined in react_agent_test.cpp
} // namespace superstep

using namespace superstep;
using namespace superstep::testing;

BOOST_AUTO_TEST_SUITE(stopped_agents)

namespace {

namespace data = boost::unit_test::data;

enum class shape { react_v1, react_v2, with_middleware };
std::ostream& operator<<(std::ostream& out, shape s) {
  return out << (s == shape::react_v1   ? "create_react_agent v1"
                 : s == shape::react_v2 ? "create_react_agent v2"
                                        : "create_agent");
}
const auto shapes = std::vector<shape>{shape::react_v1, shape::react_v2, shape::with_middleware};

using hook = task<update<desk>> (*)(const desk&, runtime);

/// An agent that calls `echo` and `second` at once and then ends.
struct plan {
  tool_ptr second;
  tool_interceptor review{};
  hook before_model = nullptr;
};

compiled_graph<desk> make(shape s, plan p) {
  auto both = calling("echo", "c1", "one");
  both.tool_calls.push_back(calling(p.second->definition().name, "c2", "two").tool_calls[0]);
  const auto model = scripted({std::move(both), ai_message("done")});
  auto node = tool_node_options{};
  node.wrap_call = std::move(p.review);
  const auto tools = tool_node{{echo(), std::move(p.second)}, std::move(node)};
  if (s == shape::with_middleware) {
    auto options = design(model);
    options.tools = tools;
    if (p.before_model != nullptr) {
      auto asks = middleware<desk>{};
      asks.name = "asks";
      asks.before_model = p.before_model;
      options.middleware = {std::move(asks)};
    }
    options.checkpointer = memory_checkpointer();
    return built(std::move(options));
  }
  auto options = react_agent_options<desk>{};
  options.model = model;
  options.tools = tools;
  options.version = s == shape::react_v1 ? react_version::v1 : react_version::v2;
  if (p.before_model != nullptr)
    options.pre_model_hook = p.before_model;
  options.checkpointer = memory_checkpointer();
  return create_react_agent(std::move(options));
}

run_config on_thread() {
  auto out = run_config{};
  out.thread_id = "t";
  out.recursion_limit = 50;
  return out;
}

/// Returns type, name and text of each message, and the id of the call that it answers.
std::string told(const message_list& messages) {
  auto out = std::string{};
  for (const auto& m : messages)
    out += std::to_string(static_cast<int>(m.type)) + ' ' + m.name + ' ' + m.tool_call_id + ' ' +
           m.content + '\n';
  return out;
}

/// Runs a first turn, answers every interrupt with `answer`, and returns the final messages.
/// `questions` receives the number of interrupts.
std::string end_of(const compiled_graph<desk>& agent, const json::value& answer,
                   std::size_t& questions) {
  auto lanes = engine{engine_options{.workers = 1}};
  auto ended = lanes.try_invoke(agent, first_turn(), on_thread());
  while (ended.status == run_status::interrupted && questions < 5) {
    ++questions;
    auto given = resume(answer);
    ended = lanes.try_invoke(agent, std::move(given), on_thread());
  }
  return ended.error ? ended.error->text : told(ended.state.messages) + ended.state.owner;
}

std::string end_without_questions(shape s) {
  auto none = std::size_t{0};
  return end_of(make(s, {.second = echo("shout")}), nullptr, none);
}

/// Interrupts before it returns its argument.
class asking_tool final : public tool {
public:
  [[nodiscard]] const tool_definition& definition() const noexcept override {
    return plain_->definition();
  }
  [[nodiscard]] std::vector<injection> injections() const override {
    return {{"run", injection::source::runtime, {}, {}}};
  }
  [[nodiscard]] task<tool_output> run(const tool_call& call,
                                      const tool_context& context) const override {
    auto asking = context.environment->run->interrupt(json::value("may I?"));
    co_await asking;
    auto running = plain_->run(call, context);
    auto out = co_await running;
    co_return out;
  }

private:
  tool_ptr plain_ = echo("shout");
};

task<update<desk>> ask_once(const desk& state, runtime rt) {
  auto out = update<desk>{};
  if (state.messages.size() == 1) { // only before the first call of the model
    auto asking = rt.interrupt(json::value("may I?"));
    co_await asking;
  }
  co_return out;
}

task<std::string> never(std::shared_ptr<std::promise<void>> begun) {
  begun->set_value();
  auto waiting = await_callback<int>([](const completer<int>&) {});
  co_await waiting;
  co_return "";
}

} // namespace

BOOST_DATA_TEST_CASE(resumed_review_gives_result_of_uninterrupted_run, data::make(shapes), s) {
  auto which = review_options{};
  which.tools = {"shout"};
  auto questions = std::size_t{0};
  const auto agent = make(s, {.second = echo("shout"), .review = review_calls(std::move(which))});
  BOOST_TEST(end_of(agent, parse_json(R"([{"type":"accept"}])").value(), questions) ==
             end_without_questions(s));
  BOOST_TEST(questions == 1U);
}

BOOST_DATA_TEST_CASE(resumed_hook_interrupt_gives_result_of_uninterrupted_run, data::make(shapes),
                     s) {
  auto questions = std::size_t{0};
  const auto agent = make(s, {.second = echo("shout"), .before_model = ask_once});
  BOOST_TEST(end_of(agent, true, questions) == end_without_questions(s));
  BOOST_TEST(questions == 1U);
}

BOOST_DATA_TEST_CASE(resumed_tool_interrupt_gives_result_of_uninterrupted_run, data::make(shapes),
                     s) {
  auto questions = std::size_t{0};
  const auto agent = make(s, {.second = std::make_shared<const asking_tool>()});
  BOOST_TEST(end_of(agent, true, questions) == end_without_questions(s));
  BOOST_TEST(questions == 1U);
}

BOOST_DATA_TEST_CASE(cancelled_agent_answers_every_tool_call, data::make(shapes), s) {
  const auto begun = std::make_shared<std::promise<void>>();
  const auto agent =
      make(s, {.second = make_tool<echo_args>("stuck", "",
                                              [begun](const echo_args&) { return never(begun); })});
  auto lanes = engine{engine_options{.workers = 1}};
  auto ended = std::promise<run_result<desk>>{};
  auto first = desk{};
  first.messages = {human_message("question")};
  auto handle = lanes.submit(agent, std::move(first), on_thread(),
                             [&](run_result<desk> r) { ended.set_value(std::move(r)); });
  begun->get_future().wait();
  handle.cancel();
  const auto stopped = ended.get_future().get();
  BOOST_REQUIRE(stopped.error);
  BOOST_TEST(stopped.error->text.find("was cancelled in step 2") != std::string::npos);
  const auto kept = lanes.get_state(agent, on_thread());
  const auto& messages = kept.values->messages;
  auto answered = std::vector<std::string>{};
  for (const auto& m : messages)
    if (m.type == message_type::tool)
      answered.push_back(m.tool_call_id);
  BOOST_TEST(answered == (std::vector<std::string>{"c1", "c2"}), boost::test_tools::per_element());
  BOOST_TEST(messages.back().content.starts_with(
      "Error: the call of tool 'stuck' was stopped: the run was cancelled"));
  BOOST_TEST(end_open_calls(agent, "t", "again.") == 0U);
  auto words = update{set<&desk::messages>({human_message("question")})};
  const auto next = lanes.try_invoke(agent, std::move(words), on_thread());
  BOOST_TEST(why(next) == "");
  BOOST_TEST(next.state.messages.back().content == "done");
}

BOOST_DATA_TEST_CASE(cancelled_json_agent_answers_every_tool_call,
                     data::make({react_version::v1, react_version::v2}), version) {
  const auto begun = std::make_shared<std::promise<void>>();
  auto both = calling("echo", "c1", "one");
  both.tool_calls.push_back(calling("stuck", "c2", "two").tool_calls[0]);
  auto options = react_agent_options<json::value>{};
  options.model = scripted({std::move(both)});
  options.tools = tool_list{echo(), make_tool<echo_args>("stuck", "", [begun](const echo_args&) {
                              return never(begun);
                            })};
  options.version = version;
  const auto agent = create_react_agent(std::move(options));
  auto lanes = engine{engine_options{.workers = 1}};
  auto ended = std::promise<run_result<json::object>>{};
  auto handle =
      lanes.submit(agent, json::object{{"messages", to_json_list({human_message("question")})}},
                   on_thread(), [&](auto result) { ended.set_value(std::move(result)); });
  begun->get_future().wait();
  handle.cancel();
  const auto stopped = ended.get_future().get();
  BOOST_REQUIRE(stopped.error);
  const auto messages = messages_of(stopped.state);
  BOOST_REQUIRE(messages.size() == 4U);
  BOOST_TEST(messages[2].tool_call_id == "c1");
  BOOST_TEST(messages[3].tool_call_id == "c2");
  BOOST_TEST(messages[3].content.starts_with(
      "Error: the call of tool 'stuck' was stopped: the run was cancelled"));
}

BOOST_DATA_TEST_CASE(every_agent_kind_answers_timed_out_tool_calls, data::make(shapes), s) {
  const auto begun = std::make_shared<std::promise<void>>();
  auto stuck =
      make_tool<echo_args>("stuck", "", [begun](const echo_args&) { return never(begun); });
  const auto agent =
      make(s, {.second = with_timeout(std::move(stuck), std::chrono::milliseconds{1})});
  auto lanes = engine{engine_options{.workers = 1}};
  const auto ended = lanes.try_invoke(agent, first_turn(), on_thread());
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(said(ended) == "question\n\none\nError: the call of tool 'stuck' was stopped: it took "
                            "longer than 1 ms\n Please fix your mistakes.\ndone");
  BOOST_TEST(ended.state.messages[3].is_error);
}

BOOST_AUTO_TEST_CASE(unanswered_calls_get_error_answers_only_once) {
  auto both = calling("echo", "c1");
  both.tool_calls.push_back(calling("echo", "c2").tool_calls[0]);
  const auto open = message_list{human_message("go"), both, tool_message("x", "c1", "echo")};
  const auto whole = with_calls_answered(open, "it was cancelled.");
  BOOST_REQUIRE(whole.size() == 4U);
  BOOST_TEST(whole.back().tool_call_id == "c2");
  BOOST_TEST(whole.back().is_error);
  BOOST_TEST(with_calls_answered(whole, "").size() == 4U);
}

BOOST_AUTO_TEST_SUITE_END()

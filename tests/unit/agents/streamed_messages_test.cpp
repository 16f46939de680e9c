// SPDX-License-Identifier: Apache-2.0
// The messages that agents stream: each message that a node adds to the conversation, once.
#include "agents/fake_model.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/json_agent.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>
#include <string>
#include <vector>

using namespace superstep;

namespace streamed_messages_test {

using lines = std::vector<std::string>;

chat_model_ptr answering(std::vector<message> answers) {
  return std::make_shared<const superstep::testing::fake_model>(std::move(answers));
}

/// Returns a command that adds two messages: the answer to the call, and another.
class commanding_tool final : public tool {
public:
  commanding_tool() {
    definition_.name = "command";
    definition_.parameters = {{"type", "object"}, {"properties", json::object{}}};
  }
  const tool_definition& definition() const noexcept override { return definition_; }
  task<tool_output> run(const tool_call& call, const tool_context&) const override {
    auto update = tool_update{};
    auto& messages = update.messages.emplace();
    messages.push_back(tool_message("done by command", call.id, "command"));
    messages.push_back(human_message("and a remark"));
    auto said = tool_command{};
    said.update = std::move(update);
    auto out = tool_output{};
    out.reply = tool_reply{std::move(said)};
    co_return out;
  }

private:
  tool_definition definition_;
};

template <class Events>
lines read(Events events) {
  auto out = lines{};
  for (const auto& event : events) {
    const auto& sent = std::get<message_event>(event);
    if (const auto* m = sent.template get_if<message>())
      out.push_back(sent.node + ": " + text_of(*m));
  }
  return out;
}

lines streamed(agent_options<messages_state> options) {
  auto lanes = engine{engine_options{.workers = 1}};
  auto input = messages_state{};
  input.messages.push_back(human_message("hi"));
  return read(
      lanes.stream(create_agent(std::move(options)), std::move(input), stream_mode::messages));
}
lines streamed(agent_options<json::value> options) {
  auto lanes = engine{engine_options{.workers = 1}};
  auto question = json::array(1, json::object{{"type", "human"}, {"content", "hi"}});
  return read(lanes.stream(create_agent(std::move(options)), {{"messages", std::move(question)}},
                           stream_mode::messages));
}

/// Checks the messages that agents stream with a struct and with JSON as state.
/// @param set sets the options, for both types of state
template <class F>
void check(const lines& expected, F set) {
  for (const auto version : {react_version::v1, react_version::v2}) {
    auto over_struct = agent_options<messages_state>{};
    over_struct.version = version;
    set(over_struct);
    BOOST_TEST(streamed(std::move(over_struct)) == expected, boost::test_tools::per_element());
    auto over_json = agent_options<json::value>{};
    over_json.version = version;
    set(over_json);
    BOOST_TEST(streamed(std::move(over_json)) == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE(streamed_messages)

BOOST_AUTO_TEST_CASE(messages_of_tool_commands_are_streamed) {
  check({"model: ", "tools: done by command", "tools: and a remark", "model: done"},
        [](auto& options) {
          options.model = answering({ai_message("", {{"c1", "command", {}}}), ai_message("done")});
          options.tools = {std::make_shared<const commanding_tool>()};
        });
}

BOOST_AUTO_TEST_CASE(answer_of_wrapper_is_streamed_if_model_was_not_called) {
  check({"model: of the wrapper"}, [](auto& options) {
    options.model = answering({ai_message("of the model")});
    auto own = message_middleware{};
    own.name = "own";
    own.wrap_model_call = [](model_call, model_ask, runtime) -> task<message> {
      co_return ai_message("of the wrapper");
    };
    options.middleware = {own};
  });
}

BOOST_AUTO_TEST_CASE(answer_of_failed_model_is_streamed) {
  check({"model: sorry"}, [](auto& options) {
    options.model = answering({});
    auto own = message_middleware{};
    own.name = "own";
    own.wrap_model_call = [](model_call call, model_ask ask, runtime) -> task<message> {
      try {
        auto asking = ask(std::move(call));
        auto answer = co_await asking;
        co_return answer;
      } catch (const model_error&) {
      }
      co_return ai_message("sorry");
    };
    options.middleware = {own};
  });
}

BOOST_AUTO_TEST_CASE(answer_of_wrapped_model_is_streamed_once) {
  check({"model: of the model"}, [](auto& options) {
    options.model = answering({ai_message("of the model")});
    auto own = message_middleware{};
    own.name = "own";
    own.wrap_model_call = [](model_call call, model_ask ask, runtime) {
      return ask(std::move(call));
    };
    options.middleware = {own};
  });
}

BOOST_AUTO_TEST_CASE(hook_streams_new_messages_only) {
  check({"own.before_model: limit reached"}, [](auto& options) {
    options.model = answering({ai_message("unused")});
    auto own = message_middleware{};
    own.name = "own";
    own.before_model.run = [](const message_list& messages, runtime) -> task<message_step> {
      auto step = message_step{};
      step.messages = messages;
      step.messages.push_back(ai_message("limit reached"));
      step.to = jump::finish;
      co_return step;
    };
    own.before_model.jumps = {jump::finish};
    options.middleware = {own};
  });
}

BOOST_AUTO_TEST_CASE(pre_model_hook_streams_its_messages) {
  const auto expected = lines{"pre_model_hook: remember", "model: done"};
  auto over_struct = agent_options<messages_state>{};
  over_struct.model = answering({ai_message("done")});
  over_struct.pre_model_hook = [](const messages_state&, const runtime&) {
    return update{set<&messages_state::messages>({human_message("remember")})};
  };
  BOOST_TEST(streamed(std::move(over_struct)) == expected, boost::test_tools::per_element());
  auto over_json = agent_options<json::value>{};
  over_json.model = answering({ai_message("done")});
  over_json.pre_model_hook = [](const json::value&, const runtime&) {
    const auto note = json::object{{"type", "human"}, {"content", "remember"}};
    return json::object{{"messages", json::array(1, note)}};
  };
  BOOST_TEST(streamed(std::move(over_json)) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(answers_to_invalid_calls_are_streamed) {
  auto broken = ai_message("");
  broken.invalid_tool_calls.push_back({"c1", "command", "{", "cut off"});
  auto options = agent_options<messages_state>{};
  options.model = answering({broken, ai_message("done")});
  options.tools = {std::make_shared<const commanding_tool>()};
  options.answer_invalid_calls = true;
  const auto told = streamed(std::move(options));
  BOOST_REQUIRE(told.size() == 3U);
  BOOST_TEST(told[1].find("command") != std::string::npos, told[1]);
  BOOST_TEST(told[2] == "model: done");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace streamed_messages_test

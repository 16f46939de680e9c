// SPDX-License-Identifier: Apache-2.0
// Multi-agent graphs: a supervisor with workers, and a swarm whose members hand over to each other.
#include "agents/fake_model.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/json_agent.hpp>
#include <superstep/agents/json_messages.hpp>
#include <superstep/agents/multi_agent.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/tools/tool_wrappers.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>

using namespace superstep;

namespace superstep {
std::ostream& operator<<(std::ostream& out, react_version v);
} // namespace superstep

namespace {

namespace data = boost::unit_test::data;
const auto versions = std::vector<react_version>{react_version::v1, react_version::v2};

/// Chooses its answer by the last message.
class replying_model final : public chat_model {
public:
  using reply = std::function<message(const message& last)>;
  explicit replying_model(reply r) : reply_{std::move(r)} {}
  task<result<message>> complete(model_request request) const override {
    co_return reply_(request.messages.back());
  }
  std::string fingerprint() const override { return "replying"; }

private:
  reply reply_;
};

message handing_over(std::string to) {
  return ai_message("", {tool_call{"h-" + to, "transfer_to_" + to, {}}});
}

compiled_json_graph agent(std::string name, std::vector<std::string> others, react_version version,
                          replying_model::reply reply) {
  auto tools = tool_list{};
  for (auto& other : others)
    tools.push_back(make_handoff_tool({.agent = other, .active_key = "active"}));
  auto options = react_agent_options<json::value>{};
  options.name = std::move(name);
  options.model = std::make_shared<const replying_model>(std::move(reply));
  options.tools = std::move(tools);
  options.version = version;
  return create_react_agent(std::move(options));
}

json_graph team() {
  auto g = json_graph{};
  g.channel("messages", add_json_messages, json::array{}).channel("active");
  return g;
}

/// Runs one turn and returns the author of each message with its text.
std::vector<std::string> turn(engine& lanes, const compiled_json_graph& graph, std::string text) {
  auto config = run_config{};
  config.thread_id = "t";
  config.run_id = text;
  auto question = json::array(1, json::object{{"type", "human"}, {"content", text}});
  const auto ended = lanes.try_invoke(graph, {{"messages", std::move(question)}}, config);
  BOOST_REQUIRE(!ended.error);
  auto said = std::vector<std::string>{};
  for (const auto& m : messages_of(ended.state))
    said.push_back((m.name.empty() ? "user" : m.name) + ": " + m.content);
  return said;
}

} // namespace

BOOST_DATA_TEST_CASE(supervisor_hands_over_and_receives_the_answer, data::make(versions), version) {
  auto g = team();
  g.add("boss", agent("boss", {"adder"}, version, [](const message& last) {
          return last.type == message_type::human ? handing_over("adder")
                                                  : ai_message("The sum is " + last.content);
        }));
  g.add("adder", agent("adder", {}, version, [](const message&) { return ai_message("5"); }));
  g.edge("__start__", "boss").edge("adder", "boss");
  auto lanes = engine{engine_options{.workers = 1}};
  const auto expected = std::vector<std::string>{
      "user: 2+3?", "boss: ", "transfer_to_adder: Successfully transferred to adder", "adder: 5",
      "boss: The sum is 5"};
  BOOST_TEST(turn(lanes, g.compile(), "2+3?") == expected, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(swarm_turn_starts_with_last_active_agent, data::make(versions), version) {
  const auto member = [&](std::string name, std::string other) {
    return agent(name, {other}, version, [=](const message& last) {
      return last.content == other + " please" ? handing_over(other) : ai_message(name + " here");
    });
  };
  auto g = team();
  g.add("alice", member("alice", "bob")).add("bob", member("bob", "alice"));
  g.branch("__start__",
           [](const json::value& state) {
             const auto* active = state.as_object().if_contains("active");
             return std::string{active != nullptr ? std::string_view{active->as_string()}
                                                  : "alice"};
           },
           {{"alice", "alice"}, {"bob", "bob"}});
  auto options = compile_options{};
  options.checkpointer = memory_checkpointer();
  const auto graph = g.compile(std::move(options));
  auto lanes = engine{engine_options{.workers = 1}};
  BOOST_TEST(turn(lanes, graph, "bob please").back() == "bob: bob here");
  BOOST_TEST(turn(lanes, graph, "hello").back() == "bob: bob here");
  BOOST_TEST(turn(lanes, graph, "alice please").back() == "alice: alice here");
}

BOOST_AUTO_TEST_CASE(create_agent_accepts_wrapped_handoff_tools) {
  const auto handoff = make_handoff_tool({.agent = "poet"});
  const auto wrapped = with_timeout(handoff, std::chrono::seconds{1});
  const auto model =
      std::make_shared<const replying_model>([](const message&) { return ai_message(""); });
  for (const auto& tool : {handoff, wrapped, journaled(handoff)}) {
    BOOST_CHECK_NO_THROW((void)create_agent({.model = model, .tools = {tool}}));
    BOOST_CHECK_NO_THROW((void)create_agent<json::value>({.model = model, .tools = {tool}}));
  }
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents/fake_model.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/prebuilt_middleware.hpp>
#include <superstep/tools/make_tool.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// What tests of agents with middleware share: a state, a tool, and a model that follows a script.
namespace superstep::testing {

/// A state of a user's own.
struct desk {
  message_list messages;
  json::value structured_response;
  std::string owner;
  int visits = 0;
  call_counts calls;
  std::vector<todo> todos;

  using reducers =
      superstep::reducers<by<&desk::messages, add_messages>, by<&desk::visits, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(desk, (), (messages, structured_response, owner, visits, calls, todos))

struct echo_args {
  std::string text;
};
BOOST_DESCRIBE_STRUCT(echo_args, (), (text))

inline tool_ptr echo(std::string name = "echo") {
  return make_tool<echo_args>(std::move(name), "Says it again.",
                              [](const echo_args& a) { return a.text; });
}

inline message calling(std::string tool, std::string id, std::string text = "x") {
  auto call = tool_call{std::move(id), std::move(tool), {}};
  call.args["text"] = text;
  return ai_message("", {std::move(call)});
}

inline std::shared_ptr<const fake_model> scripted(std::vector<message> answers) {
  return std::make_shared<const fake_model>(std::move(answers));
}

inline agent_options<desk> design(chat_model_ptr model) {
  auto out = agent_options<desk>{};
  out.model = std::move(model);
  out.tools = {echo()};
  return out;
}

/// The question of a person called Kim.
[[nodiscard]] desk first_turn();

/// In a file of its own, because it is long in the making.
[[nodiscard]] compiled_graph<desk> built(agent_options<desk> options);
[[nodiscard]] run_result<desk> run(agent_options<desk> options, run_config config = {});

/// A thread of one agent.
class conversation {
public:
  explicit conversation(agent_options<desk> options);
  run_result<desk> say(const std::string& text);
  run_result<desk> answer(json::value response);

private:
  compiled_graph<desk> agent_;
  engine lanes_{engine_options{.workers = 1}};
  run_config config_;
};

/// Why a run failed; empty: it did not.
[[nodiscard]] std::string why(const run_result<desk>& ended);
/// The contents of its messages, one to a line.
[[nodiscard]] std::string said(const run_result<desk>& ended);

} // namespace superstep::testing

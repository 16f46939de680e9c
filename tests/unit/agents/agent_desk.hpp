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

// Shared by tests of agents with middleware: a state, a tool, and a scripted model.
namespace superstep::testing {

/// A user-defined state.
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

/// Returns the state with a question of a user called Kim.
[[nodiscard]] desk first_turn();

/// Builds the agent. Defined in its own file because it takes long to compile.
[[nodiscard]] compiled_graph<desk> built(agent_options<desk> options);
[[nodiscard]] run_result<desk> run(agent_options<desk> options, run_config config = {});

/// Runs turns of one agent on one thread.
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

/// Returns the error text of a run, or an empty text if it succeeded.
[[nodiscard]] std::string why(const run_result<desk>& ended);
/// Returns the contents of the final messages, one per line.
[[nodiscard]] std::string said(const run_result<desk>& ended);

} // namespace superstep::testing

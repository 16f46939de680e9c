// SPDX-License-Identifier: Apache-2.0
// Middleware: code that runs before or around the model and tool calls of an agent.
#include "model.hpp"

#include <superstep/superstep.hpp>

#include <iostream>
#include <memory>
#include <string>

namespace ss = superstep;

using chat = ss::messages_state;

struct account_args {
  std::string owner;
};
BOOST_DESCRIBE_STRUCT(account_args, (), (owner))

/// Ends a run about passwords without calling the model.
ss::hook_step<chat> refuse_passwords(const chat& c, const ss::runtime&) {
  auto out = ss::hook_step<chat>{};
  if (ss::text_of(c.messages.back()).find("password") != std::string::npos) {
    out.update.add(ss::set<&chat::messages>({ss::ai_message("I do not discuss passwords.")}));
    out.to = ss::jump::finish;
  }
  return out;
}

/// Replaces the system prompt in a call of the model.
ss::task<ss::message> be_brief(ss::model_call call, ss::model_ask ask) {
  call.system = std::make_shared<const ss::message>(ss::system_message("Be brief."));
  return ask(std::move(call)); // may also call the model again, another model, or none
}

/// Prints the name of each called tool.
ss::task<ss::tool_answer> log_call(ss::tool_request request, ss::tool_execute execute) {
  std::cout << "call of " << request.call.name << '\n';
  return execute(std::move(request));
}

int main() {
  auto guard = ss::middleware<chat>{};
  guard.name = "guard";
  guard.before_model = {refuse_passwords, {ss::jump::finish}}; // declares the possible jumps
  guard.wrap_model_call = be_brief;
  guard.wrap_tool_call = log_call;

  auto engine = ss::engine{};
  auto agent = ss::create_agent({
      .model = model_or_script("{rules: [{type: tool, text: 'You have \\0.'}], default: "
                               "{calls: [{name: balance, args: {owner: Ada}}]}}"),
      .tools = {ss::make_tool("balance", "Returns the balance of an account.",
                              [](const account_args&) { return "250 euros"; })},
      .middleware = {guard},
  });
  for (const auto* question : {"What is my balance?", "What is my password?"})
    std::cout << ss::text_of(engine.invoke(agent, question).state.messages.back()) << '\n';
}

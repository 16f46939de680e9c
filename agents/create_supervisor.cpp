// SPDX-License-Identifier: Apache-2.0
// Builds a supervisor team: a graph whose nodes are the supervisor and its agents. The supervisor
// passes control to an agent by calling a handoff tool (handoff.cpp).
#include "agents/chat_history.hpp"
#include "agents/team.hpp"
#include "base/digest.hpp"

#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/multi_agent.hpp>

#include <set>
#include <utility>

namespace superstep {

namespace {

/// Builds the supervisor's own agent, with a handoff tool for each agent of the team.
compiled_graph<messages_state> make_boss(supervisor_options& o,
                                         const std::vector<std::string>& names) {
  auto tools = std::move(o.tools);
  for (const auto& name : names)
    tools.push_back(make_handoff_tool({.agent = name}));
  auto options = agent_options<messages_state>{};
  options.rules = agent_rules::create_react_agent;
  options.name = o.name;
  options.model = std::move(o.model);
  options.tools = std::move(tools);
  options.prompt = std::move(o.prompt);
  return create_agent(std::move(options));
}

/// Adds two messages for an agent's return to the supervisor: a tool call and its answer.
/// LangGraph's supervisor adds the same messages.
/// @param last the agent's last message. The id of the call is derived from its id, which is unique
/// in the team, unlike numbers: the agent may have removed messages from its own history
void add_return(message_list& to, const std::string& agent, const std::string& boss,
                const message& last) {
  constexpr auto digits = std::size_t{16}; // OpenAI accepts ids of at most 40 characters
  auto call = tool_call{"transfer_back_" + digest_text(last.id).substr(0, digits),
                        detail::handoff_name("transfer_back_to_", boss),
                        {}};
  auto back = ai_message("Transferring back to " + boss, {call});
  back.name = agent;
  to.push_back(std::move(back));
  to.push_back(tool_message("Successfully transferred back to " + boss, call.id, call.name));
}

/// Returns the messages that the team keeps of an agent's work.
message_list kept_messages(const message_list& all, team_output output) {
  if (output == team_output::full_history || all.empty())
    return all;
  auto first = all.size() - 1;
  // If a return_direct tool ended the agent, its result needs the message that contains the call.
  if (all.back().type == message_type::tool)
    if (const auto answer = last_ai_index(all); answer < first)
      first = answer;
  auto kept = message_list{};
  for (auto i = first; i < all.size(); ++i)
    kept.push_back(all[i]);
  return kept;
}

} // namespace

std::vector<std::string> detail::names_of(const std::vector<compiled_graph<messages_state>>& agents,
                                          const std::string& taken) {
  auto out = std::vector<std::string>{};
  auto seen = std::set<std::string>{taken};
  for (const auto& agent : agents) {
    const auto& name = detail::program_of(agent)->options().name;
    if (name.empty() || name == compile_options{}.name)
      react::refuse_options("agent " + std::to_string(out.size()) +
                            " of a team has no name; set agent_options::name");
    if (!seen.insert(name).second)
      react::refuse_options("two agents of a team have the name '" + name +
                            "'; names must be unique, also that of a supervisor");
    out.push_back(name);
  }
  return out;
}

compiled_graph<messages_state> create_supervisor(supervisor_options o) {
  const auto names = detail::names_of(o.agents, o.name);
  auto team = graph<messages_state>{};
  auto leads = node_options{};
  leads.destinations = names;
  const auto boss = o.name;
  team.add(
      node<messages_state>{boss}, make_boss(o, names), detail::messages_for_agent<messages_state>,
      [](const messages_state& ended) {
        return update{set<&messages_state::messages>(ended.messages)};
      },
      std::move(leads));
  team.edge(start, node<messages_state>{boss});
  for (auto i = std::size_t{0}; i < names.size(); ++i) {
    const auto at = node<messages_state>{names[i]};
    // The agent's final state also contains the team's earlier messages.
    team.add(at, o.agents[i], detail::messages_for_agent<messages_state>,
             [name = names[i], boss, output = o.output,
              records = o.records_returns](const messages_state& ended) {
               auto said = kept_messages(ended.messages, output);
               if (records && !ended.messages.empty())
                 add_return(said, name, boss, ended.messages.back());
               return update{set<&messages_state::messages>(std::move(said))};
             });
    team.edge(at, node<messages_state>{boss});
  }
  auto compile = compile_options{};
  compile.name = o.name;
  compile.checkpointer = std::move(o.checkpointer);
  compile.store = std::move(o.store);
  return team.compile(std::move(compile));
}

} // namespace superstep

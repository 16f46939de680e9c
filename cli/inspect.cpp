// SPDX-License-Identifier: Apache-2.0
// superstep graph AGENT and superstep check AGENT: what an agent file says, without running it.
#include "cli/commands.hpp"

#include <superstep/agents/agent.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace superstep::cli {

namespace {

struct inspect_arguments {
  std::string agent;
  std::vector<std::string> overrides;
};

std::string counted(std::size_t n, const std::string& thing) {
  return std::to_string(n) + ' ' + thing + (n == 1 ? "" : "s");
}

int report(const std::vector<agent_fault>& faults) {
  std::cerr << to_text(faults) << '\n' << counted(faults.size(), "fault") << '\n';
  return 1;
}

int graph(const inspect_arguments& given) {
  const auto io = std::make_shared<io_runtime>();
  const auto built = build_agent(read_agent_file(given.agent, given.overrides), io);
  if (!built.agent)
    return report(built.faults);
  std::cout << built.agent->graph().mermaid() << std::flush;
  return 0;
}

int check(const inspect_arguments& given) {
  const auto io = std::make_shared<io_runtime>();
  const auto built = build_agent(read_agent_file(given.agent, given.overrides), io);
  if (!built.agent)
    return report(built.faults);
  std::cout << given.agent << ": ok, " << counted(built.agent->tools().size(), "tool") << std::endl;
  return 0;
}

CLI::App& add_verb(CLI::App& program, action& chosen, const char* name, const char* text,
                   int (*run)(const inspect_arguments&)) {
  auto given = std::make_shared<inspect_arguments>();
  auto& verb = *program.add_subcommand(name, text);
  verb.add_option("AGENT", given->agent, "The agent file")->required();
  verb.add_option("--set", given->overrides, "key.path=value: overrides the agent file")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  verb.callback([given, run, &chosen] { chosen = [given, run] { return run(*given); }; });
  return verb;
}

} // namespace

void add_graph(CLI::App& program, action& chosen) {
  add_verb(program, chosen, "graph", "Print the agent's graph as Mermaid text", graph)
      .footer("Example:\n  superstep graph agent.yaml > agent.mmd");
}

void add_check(CLI::App& program, action& chosen) {
  add_verb(program, chosen, "check", "Say everything that is wrong with an agent file", check)
      .footer("Example:\n  superstep check agent.yaml --set version=v1\n\n"
              "Reads the files that the agent names as well. Exit code: 0 nothing is wrong, 1 "
              "otherwise.");
}

} // namespace superstep::cli

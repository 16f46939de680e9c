// SPDX-License-Identifier: Apache-2.0
// superstep check AGENT. Also contains the options and checks that several verbs with an agent file
// share.
#include "cli/inspect.hpp"

#include "cli/commands.hpp"
#include "cli/usage.hpp"

#include <superstep/agents/agent_file.hpp>
#include <superstep/batch/batch.hpp>

#include <iostream>
#include <utility>

namespace superstep::cli {

namespace {

std::string counted(std::size_t n, const std::string& thing) {
  return std::to_string(n) + ' ' + thing + (n == 1 ? "" : "s");
}

void print_faults(const std::vector<agent_fault>& faults) {
  std::cerr << to_text(faults) << '\n' << counted(faults.size(), "fault") << '\n';
}

int check(const inspect_arguments& given) {
  const auto io = std::make_shared<io_runtime>();
  const auto built = build(given, io);
  if (!built.agent)
    return failure_code(built);
  const auto& checked = *built.agent;
  if (!is_set_up(checked, *io))
    return 1;
  warn(checked.graph().warnings());
  std::cout << given.agent << ": ok, " << counted(checked.tools().size(), "tool");
  if (const auto below = checked.sub_agents().size(); below > 0)
    std::cout << " (" << counted(below, "agent") << ")";
  std::cout << std::endl;
  return 0;
}

} // namespace

void add_agent_options(CLI::App& verb, inspect_arguments& into) {
  verb.add_option("AGENT", into.agent, "The agent file")->required()->check(not_empty());
  verb.add_option("--set", into.overrides, "key.path=value: overrides a key of the agent file")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

agent_building build(const inspect_arguments& given, const std::shared_ptr<io_runtime>& io,
                     const std::function<void(agent_spec&)>& change) {
  auto reading = read_agent_file(given.agent, given.overrides);
  if (change)
    change(reading.spec);
  auto built = build_agent(std::move(reading), io);
  warn(built.warnings);
  if (!built.agent)
    print_faults(built.faults);
  for (const auto& note : built.notes)
    std::cerr << note << '\n';
  return built;
}

int failure_code(const agent_building& built) noexcept {
  return static_cast<int>(has_shortage(built.faults) ? exit_code::shortage : exit_code::failed);
}

bool is_set_up(const agent& checked, io_runtime& io) {
  const auto faults = find_setup_faults(checked, io);
  if (!faults.empty())
    print_faults(faults);
  return faults.empty();
}

void warn(const std::vector<fault>& warnings) {
  for (const auto& w : warnings)
    std::cerr << "warning: " << w.text << '\n';
}

void warn(const std::vector<agent_fault>& warnings) {
  for (const auto& w : warnings)
    std::cerr << "warning: " << to_text(w) << '\n';
}

void add_check(CLI::App& program, action& chosen) {
  auto given = std::make_shared<inspect_arguments>();
  auto& verb = *program.add_subcommand("check", "Report all errors of an agent file");
  add_agent_options(verb, *given);
  verb.footer(
      "Example:\n  superstep check agent.yaml --set version=v1\n\n"
      "Also reads the files that the agent file refers to. Warnings go to standard error.\n"
      "Exit code: 0 no errors (warnings are allowed), 4 the machine lacks file descriptors or\n"
      "memory, 1 any other error.");
  verb.callback([given, &chosen] { chosen = [given] { return check(*given); }; });
}

} // namespace superstep::cli

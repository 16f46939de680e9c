// SPDX-License-Identifier: Apache-2.0
// Checks, before a job starts, that the programs of command tools can be started on this machine.
#include <superstep/agents/agent_file.hpp>

#include <utility>
#include <variant>

namespace superstep {

std::vector<agent_fault> find_setup_faults(const agent& checked, io_runtime& io) {
  auto out = std::vector<agent_fault>{};
  const auto& spec = checked.spec();
  for (const auto& tool : spec.tools)
    if (const auto* command = std::get_if<command_options>(&tool.options))
      if (auto fault = find_command_fault(io, *command))
        out.push_back(
            {spec.file, tool.line, tool.key + ".command", std::move(fault->text), fault->code});
  // The recursion ends, because build_agent() has rejected agents that call themselves.
  for (const auto& below : checked.sub_agents())
    for (auto& fault : find_setup_faults(*below.agent, io))
      out.push_back(std::move(fault));
  return out;
}

} // namespace superstep

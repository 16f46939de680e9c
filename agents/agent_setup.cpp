// SPDX-License-Identifier: Apache-2.0
// Checks, before a job starts, that this machine has what the agent file names: the programs and
// folders of command tools, the folder of the long-term memory, and time zones.
#include "agents/overrides.hpp"

#include <superstep/agents/agent_file.hpp>

#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>
#include <variant>

namespace superstep {

namespace {

/// Returns the key of the option that an error of find_command_fault() is about, and removes the
/// name of that option from the text.
std::string option_of(const command_options& options, std::string& text) {
  constexpr auto sandbox = std::string_view{"sandbox: "};
  if (text.starts_with(sandbox)) {
    text.erase(0, sandbox.size());
    return "sandbox";
  }
  auto ignored = std::error_code{};
  const auto has_folder =
      options.cwd.empty() || std::filesystem::is_directory(options.cwd, ignored);
  return has_folder ? "argv" : "cwd";
}

/// Returns an error if the folder of the long-term memory's database does not exist. SQLite creates
/// the database, but not its folder.
std::optional<agent_fault> find_store_fault(const agent_spec& spec) {
  const auto folder = std::filesystem::path{spec.store}.parent_path();
  auto ignored = std::error_code{};
  if (folder.empty() || std::filesystem::is_directory(folder, ignored))
    return std::nullopt;
  return agent_fault{spec.file, spec.store_line, "store.path",
                     "the folder \"" + folder.string() + "\" does not exist; create it first"};
}

} // namespace

std::vector<agent_fault> find_setup_faults(const agent_spec& spec, io_runtime& io) {
  auto out = std::vector<agent_fault>{};
  const auto add = [&](const tool_spec& tool, const std::string& key, error why) {
    out.push_back({spec.file, tool.line, tool.key + '.' + key, std::move(why.text), why.code});
  };
  for (const auto& tool : spec.tools) {
    if (const auto* command = std::get_if<command_options>(&tool.options))
      if (auto fault = find_command_fault(io, *command)) {
        const auto option = option_of(*command, fault->text);
        add(tool, "command." + option, std::move(*fault));
      }
    if (const auto* time = std::get_if<current_time_options>(&tool.options))
      if (auto zone =
              utc_offset(time->default_zone, std::chrono::system_clock::now(), time->zone_folder);
          !zone && !is_shortage(zone.error().code))
        add(tool, "current_time.default_zone", zone.error());
  }
  if (auto fault = find_store_fault(spec))
    out.push_back(std::move(*fault));
  detail::refer_to_overrides(spec, out);
  return out;
}

std::vector<agent_fault> find_setup_faults(const agent& checked, io_runtime& io) {
  auto out = find_setup_faults(checked.spec(), io);
  // The recursion ends, because build_agent() has rejected agents that call themselves.
  for (const auto& below : checked.sub_agents())
    for (auto& fault : find_setup_faults(*below.agent, io))
      out.push_back(std::move(fault));
  return out;
}

} // namespace superstep

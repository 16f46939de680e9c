// SPDX-License-Identifier: Apache-2.0
// Checks, before a job starts, that this machine has what the agent file names: the programs and
// folders of command tools, the folder of the long-term memory, and time zones.
#include "agents/overrides.hpp"
#include "postgres/pg_address.hpp"

#include <superstep/agents/agent_file.hpp>
#include <superstep/checkpoint/postgres.hpp>

#include <algorithm>
#include <array>
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

/// Whether a program runs the script that its first argument names.
bool is_interpreter(const std::string& program) {
  auto name = std::filesystem::path{program}.filename().string();
  name.resize(std::min(name.find_first_of("0123456789"), name.size())); // python3.11
  constexpr auto names = std::array<std::string_view, 11>{
      "bash", "dash", "ksh", "lua", "node", "perl", "php", "python", "ruby", "sh", "zsh"};
  return std::ranges::find(names, name) != names.end();
}

/// Returns an error if the script of an interpreter does not exist. Options before the script are
/// not interpreted, so a command with options is not checked.
std::optional<error> find_script_fault(const command_options& options) {
  if (options.argv.size() < 2 || options.sandbox.is_on || !is_interpreter(options.argv.front()))
    return std::nullopt;
  const auto& script = options.argv[1];
  if (script.empty() || script.starts_with('-'))
    return std::nullopt;
  auto failed = std::error_code{};
  const auto path = std::filesystem::path{options.cwd} / script;
  if (std::filesystem::exists(path, failed) || failed)
    return std::nullopt;
  const auto folder =
      options.cwd.empty() ? std::filesystem::current_path(failed).string() : options.cwd;
  return error{errc::io_failed,
               "the script \"" + script + "\" does not exist" +
                   (script.starts_with('/')
                        ? std::string{}
                        : " in " + folder +
                              ", where the program starts; correct the path, or set cwd, which is "
                              "relative to the agent file")};
}

/// Returns an error if the folder of the long-term memory's database does not exist, because SQLite
/// creates the database, but not its folder, or if the address of a server is not accepted.
std::optional<agent_fault> find_store_fault(const agent_spec& spec) {
  if (superstep::is_postgres_url(spec.store)) {
    constexpr auto use = detail::address_use{{}, {}};
    const auto checked = detail::check_address(spec.store, false, use);
    return checked ? std::nullopt
                   : std::optional{agent_fault{spec.file, spec.store_line, "store.path",
                                               checked.error().text}};
  }
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
    if (const auto* command = std::get_if<command_options>(&tool.options)) {
      if (auto fault = find_command_fault(io, *command)) {
        const auto option = option_of(*command, fault->text);
        add(tool, "command." + option, std::move(*fault));
      } else if (auto script = find_script_fault(*command)) {
        add(tool, "command.argv", std::move(*script));
      }
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

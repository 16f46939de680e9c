// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_spec.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// One thing wrong with an agent file.
struct agent_fault {
  std::string file;     ///< "--set" when an override is to blame
  std::size_t line = 0; ///< from 1; 0: no line of a file
  std::string key;      ///< dotted path, e.g. `tools.1.command.argv`
  std::string text;

  friend bool operator==(const agent_fault&, const agent_fault&) = default;
};

/// `agent.yaml:7: model.path: is missing; it is required`
[[nodiscard]] std::string to_text(const agent_fault&);
/// One fault per line.
[[nodiscard]] std::string to_text(const std::vector<agent_fault>&);

/// What an agent file says, and everything wrong with it. The spec may be used only when there is
/// no fault.
struct agent_reading {
  agent_spec spec;
  std::vector<agent_fault> faults;
};

/// Largest agent file.
inline constexpr std::size_t agent_file_bytes_max = std::size_t{1} << 20;

/// Reads an agent file; docs/agent-file.md is the format. `overrides` are `key.path=value` texts:
/// the value is YAML and takes the place of what the file says; numbers index lists.
/// Relative paths in it, and in the overrides, are taken from the folder of the file.
[[nodiscard]] agent_reading read_agent_file(const std::string& path,
                                            const std::vector<std::string>& overrides = {});

/// The same for text that stands in no file; relative paths are taken from `folder`.
[[nodiscard]] agent_reading read_agent_text(std::string_view text, const std::string& name,
                                            const std::string& folder,
                                            const std::vector<std::string>& overrides = {});

} // namespace superstep

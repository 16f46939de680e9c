// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_spec.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// One error of an agent file.
struct agent_fault {
  std::string file;     ///< path of the file, or "--set" for an error of an override
  std::size_t line = 0; ///< line number from 1; 0 if the error belongs to no line
  std::string key;      ///< dotted path, e.g. `tools.1.command.argv`
  std::string text;     ///< what is wrong, and what is expected instead

  friend bool operator==(const agent_fault&, const agent_fault&) = default;
};

/// Formats one error as a line: `agent.yaml:7: model.path: is missing; it is required`
[[nodiscard]] std::string to_text(const agent_fault&);
/// Formats several errors, one per line, without a trailing newline.
[[nodiscard]] std::string to_text(const std::vector<agent_fault>&);

/// A parsed agent file and all its errors. Use the spec only if there are none.
struct agent_reading {
  agent_spec spec;                 ///< the parts of the file that could be read
  std::vector<agent_fault> faults; ///< in the order of the file; empty if it is valid
};

/// The maximum size of an agent file, in bytes.
inline constexpr std::size_t agent_file_bytes_max = std::size_t{1} << 20;

/// Reads an agent file in the format of docs/agent-file.md.
///
/// @param path the file; relative paths in it, and in the overrides, are relative to its folder
/// @param overrides texts `key.path=value` that replace values of the file. The value is YAML;
/// numbers in the path are indexes of lists.
/// @return the spec and all errors, a file that cannot be read included. Does not throw.
[[nodiscard]] agent_reading read_agent_file(const std::string& path,
                                            const std::vector<std::string>& overrides = {});

/// Reads an agent file from memory.
/// @param text the content, in the format of docs/agent-file.md
/// @param name replaces the path in errors
/// @param folder base of relative paths
/// @param overrides see read_agent_file()
[[nodiscard]] agent_reading read_agent_text(std::string_view text, const std::string& name,
                                            const std::string& folder,
                                            const std::vector<std::string>& overrides = {});

} // namespace superstep

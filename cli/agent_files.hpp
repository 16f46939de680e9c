// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/base/detail/distinct_files.hpp>

#include <vector>

namespace superstep::cli {

/// Returns every file that an agent and its sub-agents read or write: agent files, recordings,
/// rules of scripted models, databases, and the programs and files in commands. A verb adds the
/// files that it writes itself, and passes the list to check_distinct_files().
[[nodiscard]] std::vector<used_file> files_of(const agent& a);

/// Adds a database, and the files that SQLite and the checkpointer create beside it.
void add_database(std::vector<used_file>& into, const std::string& what, const std::string& path,
                  used_file::use how);

/// Adds standard output and standard error if the shell has redirected them to files.
void add_standard_outputs(std::vector<used_file>& into);

} // namespace superstep::cli

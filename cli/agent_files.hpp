// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/base/detail/distinct_files.hpp>

#include <vector>

namespace superstep::cli {

/// Every file that an agent and the agents below it read or write: the agent files themselves,
/// recordings, rules, databases, the programs and files that commands name. For
/// check_distinct_files(), with what the verb itself writes.
[[nodiscard]] std::vector<used_file> files_of(const agent& a);

/// Adds a database, with the files that SQLite and the checkpointer keep beside it.
void add_database(std::vector<used_file>& into, const std::string& what, const std::string& path,
                  used_file::use how);

/// Adds standard output and standard error where the shell has redirected them to files.
void add_standard_outputs(std::vector<used_file>& into);

} // namespace superstep::cli

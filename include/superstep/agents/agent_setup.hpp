// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/net/io_context.hpp>

#include <vector>

namespace superstep {

class agent;

/// Returns what is wrong with the machine for an agent and the agents below it: programs of
/// `command` tools that do not exist or cannot be executed, folders that do not exist, sandboxes
/// that cannot be made, a kernel without pidfd_open(2). To be asked before the first row: a program
/// that cannot be started later fails its run, and the model gets no result.
///
/// Blocks while sandboxes are tried. A shortage of the machine is not a fault of the set-up.
[[nodiscard]] std::vector<agent_fault> find_setup_faults(const agent& checked, io_runtime& io);

} // namespace superstep

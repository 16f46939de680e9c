// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/net/io_context.hpp>

#include <vector>

namespace superstep {

class agent;

/// Checks that this machine can run an agent and its sub-agents. Finds programs of `command` tools
/// that do not exist or are not executable, folders that do not exist, sandboxes that cannot be
/// created, and a kernel without pidfd_open(2). Call it before the first run: a program that cannot
/// be started later fails its run, and the model gets no result.
///
/// Blocks while it tries to start sandboxes. A temporary shortage of descriptors, processes or
/// memory is not reported.
/// @return the errors, each with the file, line and key of its tool; empty if there are none
[[nodiscard]] std::vector<agent_fault> find_setup_faults(const agent& checked, io_runtime& io);

} // namespace superstep

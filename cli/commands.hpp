// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace superstep::cli {

/// Runs a verb after its arguments were parsed; returns the exit status of the program.
using action = std::function<int()>;

// Each adds one verb to the program and sets `chosen` if the verb is used.
void add_run(CLI::App& program, action& chosen);
void add_graph(CLI::App& program, action& chosen);
void add_chat(CLI::App& program, action& chosen);
void add_check(CLI::App& program, action& chosen);
void add_threads(CLI::App& program, action& chosen);

} // namespace superstep::cli

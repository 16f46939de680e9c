// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace superstep::cli {

/// What a verb does once its arguments are parsed; the exit code of the program.
using action = std::function<int()>;

// Each adds one verb to the program and sets `chosen` when it is called.
void add_run(CLI::App& program, action& chosen);
void add_graph(CLI::App& program, action& chosen);
void add_chat(CLI::App& program, action& chosen);
void add_check(CLI::App& program, action& chosen);
void add_threads(CLI::App& program, action& chosen);

} // namespace superstep::cli

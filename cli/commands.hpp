// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace superstep::cli {

/// Runs a verb after its arguments were parsed; returns the exit status of the program.
using action = std::function<int()>;

// Each function adds one verb to the program. If the user has chosen the verb, parsing the
// arguments sets `chosen` to the action of the verb.
void add_run(CLI::App& program, action& chosen);
void add_graph(CLI::App& program, action& chosen);
void add_chat(CLI::App& program, action& chosen);
void add_check(CLI::App& program, action& chosen);
void add_threads(CLI::App& program, action& chosen);
void add_report(CLI::App& program, action& chosen);
void add_row(CLI::App& program, action& chosen);
void add_diff(CLI::App& program, action& chosen);
void add_score(CLI::App& program, action& chosen);
void add_batch_api(CLI::App& program, action& chosen);
void add_submit(CLI::App& program, action& chosen);
void add_jobs(CLI::App& program, action& chosen);

} // namespace superstep::cli

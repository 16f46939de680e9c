// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace superstep {

// The records of a run's tasks: what earlier attempts at the step and the cache know of them, and
// what later attempts need.

/// Returns the input of a task, for functions that are not bodies.
[[nodiscard]] body_input reading(run& r, std::uint32_t number);
void take_known(run& r);
void begin_known(run& r);
void cache_late(run& r, const std::vector<late_output>& late);
void cache_output(run& r, std::uint32_t number, const node_output& output);
void keep_answers(run& r);
void record_in_thread(run& r, std::uint32_t number, const node_output* output,
                      const run_error* failure);
/// Returns the error of a task that has failed with `cause`.
[[nodiscard]] run_error task_error(run& r, std::uint32_t number, graph_errc code,
                                   std::exception_ptr cause);
/// Lets the error handler of a node run in place of a task that has failed.
void become_handler(run& r, std::uint32_t number, std::shared_ptr<const run_error> why);

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// Work whose cost must grow linearly: growth_test.cpp checks it with few items, and
// growth_driver.cpp measures it with many. Each function returns the CPU seconds of its measured
// part.
#pragma once

#include <cstddef>

namespace testing::work {

/// Cancels a run with n suspended Sends.
double cancel_wide(int n);
/// Cancels n runs that wait in their only node.
double cancel_many(int n);
/// Submits n runs that wait in their only node.
double park_many(int n);
/// Runs a step of n Sends on a thread whose checkpoints are kept in memory.
double kept_sends(int n);
/// Runs a step of n Sends whose outputs are cached.
double cached_sends(int n);
/// Resumes n interrupted Sends with a value for each interrupt.
double resume_interrupted(int n);
/// Reads the state of a thread with n interrupted Sends.
double read_interrupted(int n);
/// Reads n streams in turn, each with a buffer of two events.
double slow_readers(int n);
/// Compiles and runs a chain of n nodes.
double long_chain(int n);
/// Compiles and runs a graph of n nodes in one step, and a join of them.
double wide_join(int n);
/// Compiles and runs a graph of n joins of two nodes each, on a thread whose checkpoints are kept
/// in memory.
double many_joins(int n);
/// Applies n writes that an actor sends to a run before its barrier.
double mailed_writes(int n);
/// Runs n graphs of two steps, with a timeout of each step and a deadline of one hour. Returns the
/// allocated memory in bytes afterwards.
std::size_t memory_after_timed_runs(int n);

} // namespace testing::work

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

namespace superstep {

/// Raises this process's soft limit of open files to its hard limit. Requests and programs in
/// flight need several descriptors each, and the soft limit is often 1024. Programs of
/// run_process() get the previous soft limit, because programs that use select(2) or close all
/// possible descriptors rely on it.
///
/// @par Threads
/// May be called by any thread, but should be called when the program starts.
void raise_descriptor_limit() noexcept;

/// Returns the limits of open files for programs: the current ones, with the soft limit from before
/// raise_descriptor_limit().
[[nodiscard]] rlimit descriptor_limit_of_programs() noexcept;

} // namespace superstep

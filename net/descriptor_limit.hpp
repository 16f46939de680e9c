// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

namespace superstep {

/// Raises the process's soft limit of open files to its hard limit: calls in flight need several
/// descriptors each, and the soft limit is often 1024. Programs of run_process() keep the soft limit
/// that the process had before: one that uses select(2) or visits all its descriptors relies on it.
///
/// @par Threads
/// Any; meant for the start of a program.
void raise_descriptor_limit() noexcept;

/// Returns the limits of open files that a program gets: ours, with the soft limit from before
/// raise_descriptor_limit().
[[nodiscard]] rlimit descriptor_limit_of_programs() noexcept;

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

namespace superstep {

/// Raises this process's soft limit of open files to its hard limit. Calls in flight need several
/// descriptors each, and the soft limit is often 1024. Programs of run_process() keep the previous
/// soft limit, because programs that use select(2) or iterate over all descriptors rely on it.
///
/// @par Threads
/// May be called by any thread; intended for the start of a program.
void raise_descriptor_limit() noexcept;

/// Returns the limits of open files for programs: the current ones, with the soft limit from before
/// raise_descriptor_limit().
[[nodiscard]] rlimit descriptor_limit_of_programs() noexcept;

} // namespace superstep

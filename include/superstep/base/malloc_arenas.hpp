// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace superstep {

/// For programs, before they start threads: at most one arena of glibc's heap for each lane and one
/// for everybody else. Without it every thread that ever served a lane has an arena of its own, and
/// what the runs of a lane have freed in one is not found in the next: a quarter more memory for
/// 10,000 runs at once. The variable MALLOC_ARENA_MAX of the environment has the last word; with
/// another C library this does nothing.
/// @param lanes of the engine to come; 0: one per core
void limit_malloc_arenas(std::size_t lanes);

} // namespace superstep

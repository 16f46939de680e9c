// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace superstep {

/// For programs, before they start threads: at most one arena of glibc's heap for each lane and one
/// for everybody else. Without it every thread that ever served a lane has an arena of its own, and
/// what the runs of a lane have freed in one is not found in the next: a quarter more memory for
/// 10,000 runs at once. The variable MALLOC_ARENA_MAX of the environment has the last word; with
/// another C library this does nothing.
///
/// Blocks of at least 1 MiB are returned to the system when they are freed, unless the environment
/// sets MALLOC_MMAP_THRESHOLD_.
/// @param lanes of the engine to come; 0: one per core
void limit_malloc_arenas(std::size_t lanes);

/// Asks for huge pages for a large block that is about to be filled: filling 15 MB in pages of 4 KiB
/// takes longer than parsing it. Does nothing for small blocks and where the system has none.
void prefer_huge_pages(void* begin, std::size_t size) noexcept;

} // namespace superstep

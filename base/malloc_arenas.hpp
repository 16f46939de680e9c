// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace superstep {

/// Limits glibc's heap to one arena per lane and one for all other threads. By default each thread
/// that has ever served a lane gets its own arena, and memory freed in one arena is not reused by
/// another. With 10,000 concurrent runs this costs a quarter more memory. Must be called before the
/// program starts threads. Sets no limit if the environment sets MALLOC_ARENA_MAX, or with another
/// C library.
///
/// Also makes malloc return blocks of at least 1 MiB to the system when they are freed, unless the
/// environment sets MALLOC_MMAP_THRESHOLD_.
///
/// @param lanes number of lanes of the engine; 0 for one per core
void limit_malloc_arenas(std::size_t lanes);

/// Requests huge pages for a large block that is about to be filled. With pages of 4 KiB, filling
/// 15 MB takes longer than parsing it. Does nothing for blocks below 4 MiB, or if the system has no
/// huge pages.
void prefer_huge_pages(void* begin, std::size_t size) noexcept;

} // namespace superstep

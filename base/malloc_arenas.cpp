// SPDX-License-Identifier: Apache-2.0
// Limits the arenas of glibc's malloc and requests huge pages; malloc_arenas.hpp explains why. The
// limit must be set before the first thread starts.
#include "base/malloc_arenas.hpp"

#include <cstdlib>
#include <memory>
#include <thread>

#include <sys/mman.h>

#ifdef __GLIBC__
#  include <malloc.h>
#endif

namespace superstep {

void limit_malloc_arenas([[maybe_unused]] std::size_t lanes) {
#ifdef __GLIBC__
  // Fixed values turn off glibc's dynamic threshold. Otherwise the first large block that is freed
  // raises the threshold to 32 MB. Each arena would then keep as much memory as its largest block
  // needed.
  constexpr auto mapped_from = 1 << 20;
  constexpr auto kept_at_end = 8 << 20;
  if (std::getenv("MALLOC_MMAP_THRESHOLD_") == nullptr) {
    mallopt(M_MMAP_THRESHOLD, mapped_from);
    mallopt(M_TRIM_THRESHOLD, kept_at_end);
  }
  if (std::getenv("MALLOC_ARENA_MAX") != nullptr)
    return;
  if (lanes == 0)
    lanes = std::thread::hardware_concurrency();
  mallopt(M_ARENA_MAX, static_cast<int>(lanes) + 1);
#endif
}

void prefer_huge_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t size) noexcept {
#ifdef MADV_HUGEPAGE
  constexpr auto large = std::size_t{4} << 20U;
  constexpr auto page = std::size_t{4096};
  if (size < large)
    return;
  auto* first = begin;
  if (std::align(page, large - page, first, size) != nullptr)
    ::madvise(first, size / page * page,
              MADV_HUGEPAGE); // a failure is ignored, because this is only an optimisation
#endif
}

} // namespace superstep

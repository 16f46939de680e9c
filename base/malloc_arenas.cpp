// SPDX-License-Identifier: Apache-2.0
// Limits glibc's malloc arenas; see malloc_arenas.hpp. The setting must precede the first thread.
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
  // Fixed values disable glibc's dynamic threshold. Otherwise the first large block that is freed
  // raises it to 32 MB, and every arena keeps as much memory as the largest answer it ever held.
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
              MADV_HUGEPAGE); // only an optimisation, so a failure is ignored
#endif
}

} // namespace superstep

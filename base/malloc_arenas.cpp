// SPDX-License-Identifier: Apache-2.0
#include <superstep/base/malloc_arenas.hpp>

#include <cstdlib>
#include <thread>

#ifdef __GLIBC__
#  include <malloc.h>
#endif

namespace superstep {

void limit_malloc_arenas([[maybe_unused]] std::size_t lanes) {
#ifdef __GLIBC__
  if (std::getenv("MALLOC_ARENA_MAX") != nullptr)
    return;
  if (lanes == 0)
    lanes = std::thread::hardware_concurrency();
  mallopt(M_ARENA_MAX, static_cast<int>(lanes) + 1);
#endif
}

} // namespace superstep

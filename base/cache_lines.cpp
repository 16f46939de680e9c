// SPDX-License-Identifier: Apache-2.0
// Thread-local free lists of blocks that occupy whole cache lines. cache_lines.hpp explains why
// runs use them.
#include "base/free_blocks.hpp"

#include <superstep/base/detail/cache_lines.hpp>

#include <new>

namespace superstep {

namespace {

constexpr auto line = std::size_t{64};
constexpr auto lines_max = std::size_t{8}; // longer blocks are rare and go to the heap

struct cache_line_heap {
  static void free(void* block) noexcept { ::operator delete(block, std::align_val_t{line}); }
};
/// Freed blocks by size in cache lines; about 150 KB per thread in total.
using freed_lines = detail::free_blocks<cache_line_heap, lines_max + 1, 64>;

// The memory that malloc puts before a block. A block is shorter by it than its cache lines: blocks
// then follow each other without gaps.
constexpr auto malloc_header = sizeof(std::size_t);

constexpr std::size_t lines_of(std::size_t bytes) noexcept {
  return (bytes + malloc_header + line - 1) / line;
}

} // namespace

void* take_cache_lines(std::size_t bytes) {
  const auto n = lines_of(bytes);
  if (n <= lines_max)
    if (auto* const block = freed_lines::take(n))
      return block;
  return ::operator new(n* line - malloc_header, std::align_val_t{line});
}

void free_cache_lines(void* block, std::size_t bytes) noexcept {
  if (block == nullptr)
    return;
  if (const auto n = lines_of(bytes); n <= lines_max)
    freed_lines::free(block, n);
  else
    cache_line_heap::free(block);
}

} // namespace superstep

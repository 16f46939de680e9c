// SPDX-License-Identifier: Apache-2.0
// Thread-local free lists of blocks of up to 1 KiB.
#include "base/free_blocks.hpp"

#include <superstep/base/detail/small_blocks.hpp>

#include <new>

namespace superstep::detail {

namespace {

// Blocks have the sizes that malloc gives without a rest, a multiple of its alignment less its
// header, so that a block takes no more memory than one of malloc.
constexpr auto step = std::size_t{16};
constexpr auto header = sizeof(std::size_t);
constexpr auto sizes = std::size_t{64}; // longer blocks are rare and go to the heap

struct block_heap {
  static void free(void* block) noexcept { ::operator delete(block); }
};
/// Freed blocks by size; at most 1 MB per thread in total.
using freed_blocks = free_blocks<block_heap, sizes + 1, 32>;

constexpr std::size_t size_of(std::size_t bytes) noexcept {
  return (bytes + header + step - 1) / step;
}

} // namespace

void* take_block(std::size_t bytes) {
  const auto size = size_of(bytes);
  if (size <= sizes)
    if (auto* const block = freed_blocks::take(size))
      return block;
  return ::operator new(size* step - header);
}

void free_block(void* block, std::size_t bytes) noexcept {
  const auto size = size_of(bytes);
  if (size <= sizes)
    freed_blocks::free(block, size);
  else
    block_heap::free(block);
}

} // namespace superstep::detail

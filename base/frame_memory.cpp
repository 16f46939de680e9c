// SPDX-License-Identifier: Apache-2.0
// Thread-local free lists of the frames of coroutines.
#include "base/free_blocks.hpp"

#include <superstep/base/detail/frame_memory.hpp>

#include <new>

namespace superstep::detail {

namespace {

// Blocks have the sizes that malloc gives without a rest, a multiple of its alignment less its
// header, so that a frame takes no more memory than one of malloc.
constexpr auto step = std::size_t{16};
constexpr auto header = sizeof(std::size_t);
constexpr auto sizes = std::size_t{64}; // up to 1 KiB; longer frames are rare and go to the heap

struct frame_heap {
  static void free(void* frame) noexcept { ::operator delete(frame); }
};
/// Freed frames by size; at most 1 MB per thread in total.
using freed_frames = free_blocks<frame_heap, sizes + 1, 32>;

constexpr std::size_t size_of(std::size_t bytes) noexcept {
  return (bytes + header + step - 1) / step;
}

} // namespace

void* take_frame(std::size_t bytes) {
  const auto size = size_of(bytes);
  if (size <= sizes)
    if (auto* const frame = freed_frames::take(size))
      return frame;
  return ::operator new(size* step - header);
}

void free_frame(void* frame, std::size_t bytes) noexcept {
  const auto size = size_of(bytes);
  if (size <= sizes)
    freed_frames::free(frame, size);
  else
    frame_heap::free(frame);
}

} // namespace superstep::detail

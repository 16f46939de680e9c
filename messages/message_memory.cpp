// SPDX-License-Identifier: Apache-2.0
// Thread-local lists of the memory of freed messages.
#include "message_memory.hpp"

#include "base/free_blocks.hpp"

#include <new>

namespace superstep::detail {

namespace {

// A message and the use counts of its std::shared_ptr.
constexpr auto block_bytes = sizeof(message) + 2 * sizeof(void*);

struct message_heap {
  static void free(void* block) noexcept { ::operator delete(block); }
};
using freed_messages = free_blocks<message_heap, 1, 256>; // about 80 KB per thread

} // namespace

void* take_message_memory(std::size_t bytes) {
  if (bytes == block_bytes)
    if (auto* const block = freed_messages::take(0))
      return block;
  return ::operator new(bytes);
}

void free_message_memory(void* block, std::size_t bytes) noexcept {
  if (bytes == block_bytes)
    freed_messages::free(block, 0);
  else
    message_heap::free(block);
}

} // namespace superstep::detail

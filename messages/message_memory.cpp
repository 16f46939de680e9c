// SPDX-License-Identifier: Apache-2.0
// Thread-local lists of the memory of freed messages.
#include "message_memory.hpp"

#include <cstdint>
#include <new>

namespace superstep::detail {

namespace {

// A message and the use counts of its std::shared_ptr.
constexpr auto block_bytes = sizeof(message) + 2 * sizeof(void*);
// number of free blocks kept per thread; about 80 KB
constexpr auto kept_max = std::uint32_t{256};

// Blocks are not reused under AddressSanitizer and ThreadSanitizer, which find faults by tracking
// freed blocks.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr auto reuses = false;
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr auto reuses = false;
#  else
constexpr auto reuses = true;
#  endif
#else
constexpr auto reuses = true;
#endif

struct free_message {
  free_message* next;
};

/// Blocks that this thread has freed. Trivially destructible, because destructors of other
/// thread_local objects may free messages after ~messages_at_thread_end(). Then `is_over` is set,
/// and the blocks go to the heap.
struct free_messages {
  free_message* first = nullptr;
  std::uint32_t length = 0;
  bool is_registered = false;
  bool is_over = false;
};
/// One instance per thread, so that take and free need no lock.
constinit thread_local free_messages kept_messages;

/// Returns the free blocks of a thread to the heap when the thread ends.
struct messages_at_thread_end {
  ~messages_at_thread_end() {
    kept_messages.is_over = true;
    while (auto* const block = kept_messages.first) {
      kept_messages.first = block->next;
      ::operator delete(block);
    }
  }
};

} // namespace

void* take_message_memory(std::size_t bytes) {
  auto& kept = kept_messages;
  if (bytes != block_bytes || kept.first == nullptr)
    return ::operator new(bytes);
  auto* const block = kept.first;
  kept.first = block->next;
  --kept.length;
  return block;
}

void free_message_memory(void* block, std::size_t bytes) noexcept {
  auto& kept = kept_messages;
  if (!reuses || bytes != block_bytes || kept.length == kept_max || kept.is_over) {
    ::operator delete(block);
    return;
  }
  // The first free registers the end, so that threads without messages have no cost.
  if (!kept.is_registered) {
    static thread_local auto cleaner = messages_at_thread_end{};
    static_cast<void>(cleaner);
    kept.is_registered = true;
  }
  kept.first = ::new (block) free_message{kept.first};
  ++kept.length;
}

} // namespace superstep::detail

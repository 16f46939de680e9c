// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

namespace superstep::detail {

// Blocks are not reused under AddressSanitizer and ThreadSanitizer, which find faults by tracking
// freed blocks.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr auto reuses_blocks = false;
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr auto reuses_blocks = false;
#  else
inline constexpr auto reuses_blocks = true;
#  endif
#else
inline constexpr auto reuses_blocks = true;
#endif

/// Thread-local lists of freed blocks, for an allocator whose blocks have few sizes. Each thread
/// has lists of its own, so that no function takes a lock. A block may be kept by another thread
/// than the one that allocated it.
/// @tparam Heap has a static function `free(void*)`, which returns a block to the heap. Each
/// allocator has a Heap of its own, and so lists of its own
/// @tparam Lists number of lists, one for each size
/// @tparam KeptMax number of blocks that a list keeps
template <class Heap, std::size_t Lists, std::uint32_t KeptMax>
class free_blocks {
public:
  /// Returns a block of a list; null if the list is empty.
  [[nodiscard]] static void* take(std::size_t list) noexcept {
    auto& from = mine.lists[list];
    auto* const found = from.first;
    if (found != nullptr) {
      from.first = found->next;
      --from.length;
    }
    return found;
  }
  /// Adds a block to a list, or returns it to the heap.
  static void free(void* block, std::size_t list) noexcept {
    auto& into = mine.lists[list];
    if (!reuses_blocks || into.length == KeptMax || mine.is_over) {
      Heap::free(block);
      return;
    }
    // The first free registers the end, so that threads that free nothing have no cost.
    if (!mine.is_registered) {
      static thread_local auto cleaner = at_thread_end{};
      static_cast<void>(cleaner);
      mine.is_registered = true;
    }
    into.first = ::new (block) free_block{into.first};
    ++into.length;
  }

private:
  struct free_block {
    free_block* next;
  };
  struct free_list {
    free_block* first = nullptr;
    std::uint32_t length = 0;
  };
  /// Trivially destructible, because destructors of other thread_local objects may free blocks
  /// after ~at_thread_end(). Then `is_over` is set, and the blocks go to the heap.
  struct of_thread {
    std::array<free_list, Lists> lists{};
    bool is_registered = false;
    bool is_over = false;
  };
  /// Returns the blocks of a thread to the heap when the thread ends.
  struct at_thread_end {
    ~at_thread_end() {
      mine.is_over = true;
      for (auto& list : mine.lists) {
        while (auto* const block = list.first) {
          list.first = block->next;
          Heap::free(block);
        }
      }
    }
  };

  static inline constinit thread_local of_thread mine{};
};

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
// Thread-local free lists of blocks that occupy whole cache lines. cache_lines.hpp explains why
// runs use them.
#include <superstep/base/detail/cache_lines.hpp>

#include <array>
#include <cstdint>
#include <new>

namespace superstep {

namespace {

constexpr auto line = std::size_t{64};
constexpr auto lines_max = std::size_t{8}; // longer blocks are rare and go to the heap
// number of free blocks kept per size and thread; about 150 KB per thread in total
constexpr auto kept_max = std::uint32_t{64};

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

struct free_block {
  free_block* next;
};

struct free_list {
  free_block* first = nullptr;
  std::uint32_t length = 0;
};

/// Blocks that this thread has freed, by size in cache lines. Trivially destructible, because
/// destructors of other thread_local objects may free blocks after ~at_thread_end(). Then `over` is
/// set, and the blocks go to the heap.
struct free_blocks {
  std::array<free_list, lines_max + 1> by_lines;
  bool registered = false;
  bool over = false;
};
/// One instance per thread, so that take and free need no lock.
constinit thread_local free_blocks mine;

/// Returns the free blocks of a thread to the heap when the thread ends.
struct at_thread_end {
  ~at_thread_end() {
    mine.over = true;
    for (auto& list : mine.by_lines) {
      while (auto* const b = list.first) {
        list.first = b->next;
        ::operator delete(b, std::align_val_t{line});
      }
    }
  }
};

// The memory that malloc puts before a block. A block is shorter by it than its cache lines: blocks
// then follow each other without gaps.
constexpr auto malloc_header = sizeof(std::size_t);

constexpr std::size_t lines_of(std::size_t bytes) noexcept {
  return (bytes + malloc_header + line - 1) / line;
}

} // namespace

void* take_cache_lines(std::size_t bytes) {
  const auto n = lines_of(bytes);
  if (n <= lines_max && mine.by_lines[n].first != nullptr) {
    auto& list = mine.by_lines[n];
    auto* const b = list.first;
    list.first = b->next;
    --list.length;
    return b;
  }
  return ::operator new(n* line - malloc_header, std::align_val_t{line});
}

void free_cache_lines(void* block, std::size_t bytes) noexcept {
  if (block == nullptr)
    return;
  const auto n = lines_of(bytes);
  if (!reuses || n > lines_max || mine.by_lines[n].length == kept_max || mine.over) {
    ::operator delete(block, std::align_val_t{line});
    return;
  }
  // ~at_thread_end() is registered by the first free, so that threads without frees have no cost.
  if (!mine.registered) {
    static thread_local auto cleaner = at_thread_end{};
    static_cast<void>(cleaner);
    mine.registered = true;
  }
  auto& list = mine.by_lines[n];
  list.first = ::new (block) free_block{list.first};
  ++list.length;
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace superstep {

/// Allocates whole cache lines, except for the last 8 bytes, for the small objects of a run,
/// reusing blocks that this thread has freed. malloc may place objects of two lanes on one cache
/// line, for example if one thread has submitted all runs. The two cores then compete for that line
/// (false sharing), which makes every run about a third slower.
///
/// @throws std::bad_alloc if there is no memory
/// @par Threads
/// A block may be freed by another thread than the one that allocated it. Takes no lock.
[[nodiscard]] void* take_cache_lines(std::size_t bytes);
/// Frees a block. @param bytes the size passed to take_cache_lines()
void free_cache_lines(void* block, std::size_t bytes) noexcept;

/// Allocator over take_cache_lines(), for std::allocate_shared and containers.
template <class T>
struct cache_line_allocator {
  using value_type = T;
  cache_line_allocator() = default;
  template <class U>
  cache_line_allocator(const cache_line_allocator<U>&) noexcept {}
  [[nodiscard]] T* allocate(std::size_t n) {
    return static_cast<T*>(take_cache_lines(n * sizeof(T)));
  }
  void deallocate(T* at, std::size_t n) noexcept { free_cache_lines(at, n * sizeof(T)); }
  friend bool operator==(const cache_line_allocator&, const cache_line_allocator&) noexcept {
    return true;
  }
};

/// Base class with an operator new over take_cache_lines(), for types that are created once per
/// run.
struct on_cache_lines {
  [[nodiscard]] static void* operator new(std::size_t bytes) { return take_cache_lines(bytes); }
  static void operator delete(void* at, std::size_t bytes) noexcept { free_cache_lines(at, bytes); }
};

} // namespace superstep

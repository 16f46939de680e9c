// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace superstep {

/// Memory for the small blocks of a run: whole cache lines, reused by the thread that freed them
/// last. With malloc, blocks of two lanes come to lie on one line, when whoever submitted the first
/// runs got them in one go, and every run then costs both cores a third more.
///
/// @par Threads
/// A block may be freed on another thread than the one that took it. No locks.
[[nodiscard]] void* take_cache_lines(std::size_t bytes);
/// @param bytes as given to take_cache_lines()
void free_cache_lines(void* block, std::size_t bytes) noexcept;

/// For std::allocate_shared and containers.
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

/// A base for types made by `new` once per run.
struct on_cache_lines {
  [[nodiscard]] static void* operator new(std::size_t bytes) { return take_cache_lines(bytes); }
  static void operator delete(void* at, std::size_t bytes) noexcept { free_cache_lines(at, bytes); }
};

} // namespace superstep

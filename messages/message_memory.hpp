// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace superstep::detail {

/// Returns memory for a shared message. Reuses the blocks that this thread has freed, because
/// malloc needs much longer when a run with many messages ends.
///
/// @throws std::bad_alloc if there is no memory
/// @par Threads
/// A block may be freed by another thread than the one that allocated it. Takes no lock.
[[nodiscard]] void* take_message_memory(std::size_t bytes);
/// Frees the memory. @param bytes the size passed to take_message_memory()
void free_message_memory(void* block, std::size_t bytes) noexcept;

/// Allocator over take_message_memory(), for std::allocate_shared.
template <class T>
struct message_allocator {
  using value_type = T;
  message_allocator() = default;
  template <class U>
  message_allocator(const message_allocator<U>&) noexcept {}
  [[nodiscard]] T* allocate(std::size_t n) {
    return static_cast<T*>(take_message_memory(n * sizeof(T)));
  }
  void deallocate(T* at, std::size_t n) noexcept { free_message_memory(at, n * sizeof(T)); }
  friend bool operator==(const message_allocator&, const message_allocator&) noexcept {
    return true;
  }
};

/// Makes an empty shared message. std::make_shared() would set its memory to zero first.
[[nodiscard]] inline std::shared_ptr<message> make_message() {
  return std::allocate_shared_for_overwrite<message>(message_allocator<message>{});
}
/// Makes a shared message that is moved or copied from another one.
template <class From>
[[nodiscard]] std::shared_ptr<message> make_message(From&& from) {
  return std::allocate_shared<message>(message_allocator<message>{}, std::forward<From>(from));
}

} // namespace superstep::detail

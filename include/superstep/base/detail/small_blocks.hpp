// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace superstep::detail {

/// Returns memory for an object that usually lives for a part of a super-step: the frame of a
/// coroutine, its result, the writes of a task, a short list. Reuses the blocks that this thread
/// has freed, because a call of an agent needs about ten such objects.
///
/// @throws std::bad_alloc if there is no memory
/// @par Threads
/// A block may be freed by another thread than the one that allocated it. Takes no lock.
[[nodiscard]] void* take_block(std::size_t bytes);
/// Frees the memory of a block. @param bytes the size passed to take_block()
void free_block(void* block, std::size_t bytes) noexcept;

/// A block that contains no object yet. Frees it unless release() was called.
class empty_block {
public:
  explicit empty_block(std::size_t bytes) : at_{take_block(bytes)}, bytes_{bytes} {}
  empty_block(const empty_block&) = delete;
  empty_block& operator=(const empty_block&) = delete;
  ~empty_block() {
    if (at_ != nullptr)
      free_block(at_, bytes_);
  }
  /// Constructs an object in the block and returns it. The block then belongs to the object.
  template <class T, class... Args>
  T* release(Args&&... args) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    auto* const made = std::construct_at(static_cast<T*>(at_), std::forward<Args>(args)...);
    at_ = nullptr;
    return made;
  }

private:
  void* at_;
  std::size_t bytes_;
};

/// Destroys an object that make_in_block() has made.
template <class T>
struct block_deleter {
  void operator()(T* at) const noexcept {
    if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
      delete at;
    } else {
      std::destroy_at(at);
      free_block(at, sizeof(T));
    }
  }
};
template <class T>
using block_ptr = std::unique_ptr<T, block_deleter<T>>;

/// Makes an object in a block of its own.
template <class T, class... Args>
[[nodiscard]] block_ptr<T> make_in_block(Args&&... args) {
  if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
    return block_ptr<T>{new T(std::forward<Args>(args)...)};
  else
    return block_ptr<T>{empty_block{sizeof(T)}.template release<T>(std::forward<Args>(args)...)};
}

} // namespace superstep::detail

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

/// Owns an object in a block of its own. The part of std::unique_ptr that is needed here, because a
/// user's file compiles much faster without the base classes of std::unique_ptr.
template <class T>
class block_ptr {
public:
  block_ptr() noexcept = default;
  /// Takes an object that make_in_block() has made.
  explicit block_ptr(T* at) noexcept : at_{at} {}
  block_ptr(block_ptr&& other) noexcept : at_{other.at_} { other.at_ = nullptr; }
  block_ptr& operator=(block_ptr&& other) noexcept {
    auto* const taken = other.at_;
    other.at_ = nullptr;
    reset(taken);
    return *this;
  }
  ~block_ptr() {
    if (at_ != nullptr)
      destroy(at_);
  }

  /// Replaces the object, and destroys the earlier one.
  void reset(T* at = nullptr) noexcept {
    auto* const earlier = at_;
    at_ = at;
    if (earlier != nullptr)
      destroy(earlier);
  }
  explicit operator bool() const noexcept { return at_ != nullptr; }
  [[nodiscard]] T* get() const noexcept { return at_; }
  T& operator*() const noexcept { return *at_; }
  T* operator->() const noexcept { return at_; }

private:
  static void destroy(T* at) noexcept {
    if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
      delete at;
    } else {
      at->~T();
      free_block(at, sizeof(T));
    }
  }

  T* at_ = nullptr;
};

/// Makes an object in a block of its own.
template <class T, class... Args>
[[nodiscard]] block_ptr<T> make_in_block(Args&&... args) {
  if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
    return block_ptr<T>{new T(std::forward<Args>(args)...)};
  else
    return block_ptr<T>{empty_block{sizeof(T)}.template release<T>(std::forward<Args>(args)...)};
}

} // namespace superstep::detail

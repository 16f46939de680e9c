// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/small_blocks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace superstep::detail {

/// A contiguous list that stores its first `Inline` items without allocating memory. Used for the
/// parts of a task's output. Most of these have one item and are moved several times, so all
/// functions that run for each task are short enough to be inlined. Moving a list empties it and
/// invalidates its iterators.
template <class T, std::size_t Inline>
  requires std::is_nothrow_move_constructible_v<T>
class short_list {
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  short_list() noexcept = default;
  short_list(std::size_t number, const T& item) : short_list{} {
    reserve(number);
    while (size_ < number)
      push_back(item);
  }
  short_list(const short_list& other) : short_list{} { assign(other.begin(), other.end()); }
  short_list(short_list&& other) noexcept { take(other); }
  short_list& operator=(const short_list& other) {
    if (this != &other)
      assign(other.begin(), other.end());
    return *this;
  }
  short_list& operator=(short_list&& other) noexcept {
    if (this != &other) {
      clear();
      release();
      take(other);
    }
    return *this;
  }
  ~short_list() {
    clear();
    release();
  }

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T* data() noexcept {
    return heap_ != nullptr ? heap_ : reinterpret_cast<T*>(bytes_);
  }
  [[nodiscard]] const T* data() const noexcept {
    return heap_ != nullptr ? heap_ : reinterpret_cast<const T*>(bytes_);
  }
  [[nodiscard]] T* begin() noexcept { return data(); }
  [[nodiscard]] T* end() noexcept { return data() + size_; }
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  [[nodiscard]] const T* end() const noexcept { return data() + size_; }
  /// @pre i < size()
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data()[i]; }
  /// @pre i < size()
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data()[i]; }

  /// Appends an item, which must not be part of the list. Always inline, because each body of a
  /// node calls it for each of its writes.
  [[gnu::always_inline]] void push_back(T&& item) {
    if (size_ == capacity_) [[unlikely]]
      grow(size_ + 1);
    std::construct_at(end(), std::move(item));
    ++size_;
  }
  /// Appends a copy of an item, which must not be part of the list.
  void push_back(const T& item) { push_back(T(item)); }
  /// Replaces the items by copies of those of a range that is not part of the list.
  template <class It>
  void assign(It first, It last) {
    clear();
    reserve(static_cast<std::size_t>(std::distance(first, last)));
    for (; first != last; ++first)
      push_back(T(*first));
  }
  /// Destroys the items. Keeps the memory.
  void clear() noexcept {
    if (size_ == 0) // the usual case
      return;
    std::destroy(begin(), end());
    size_ = 0;
  }
  /// Allocates memory for at least `number` items.
  void reserve(std::size_t number) {
    if (number > capacity_)
      grow(number);
  }

private:
  /// Moves the items of another list. @pre this list is empty and has no allocated memory
  void take(short_list& other) noexcept {
    if (other.heap_ != nullptr) {
      heap_ = std::exchange(other.heap_, nullptr);
      capacity_ = std::exchange(other.capacity_, static_cast<std::uint32_t>(Inline));
      size_ = std::exchange(other.size_, 0);
      return;
    }
    size_ = std::exchange(other.size_, 0);
    relocate(reinterpret_cast<T*>(other.bytes_), size_, reinterpret_cast<T*>(bytes_));
  }

  /// Moves items to memory without objects, and destroys them at their old place.
  static void relocate(T* from, std::size_t number, T* to) noexcept {
    for (; number > 0; --number, ++from, ++to) {
      std::construct_at(to, std::move(*from));
      std::destroy_at(from);
    }
  }

  [[gnu::noinline]] void grow(std::size_t number) {
    const auto larger = std::max(number, std::size_t{2} * capacity_);
    auto* const to = static_cast<T*>(take_block(larger * sizeof(T)));
    relocate(begin(), size_, to);
    release();
    heap_ = to;
    capacity_ = static_cast<std::uint32_t>(larger);
  }

  /// Frees the allocated memory. @pre its items are destroyed
  void release() noexcept {
    if (heap_ == nullptr)
      return;
    free_block(heap_, capacity_ * sizeof(T));
    heap_ = nullptr;
    capacity_ = Inline;
  }

  T* heap_ = nullptr; // null: the items are in bytes_
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = Inline;
  alignas(T) std::byte bytes_[Inline * sizeof(T)];
};

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace superstep::detail {

/// The number of items of a thin_list and the number for which it has memory. The items follow.
struct thin_list_header {
  std::uint32_t size = 0;
  std::uint32_t capacity = 0;
};

/// The header that all lists without memory share.
inline constexpr auto thin_list_without_memory = thin_list_header{};

/// A contiguous list whose object has the size of a pointer: its size and capacity are stored with
/// its items. For members of objects that exist in large numbers, if most of these lists are empty
/// most of the time. The interface is that of std::vector.
template <class T>
class thin_list {
public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  thin_list() noexcept = default;
  thin_list(const thin_list& other) { assign(other.begin(), other.end()); }
  thin_list(thin_list&& other) noexcept : block_{std::exchange(other.block_, without_memory())} {}
  thin_list& operator=(const thin_list& other) {
    if (this != &other)
      assign(other.begin(), other.end());
    return *this;
  }
  thin_list& operator=(thin_list&& other) noexcept {
    if (this != &other) {
      clear();
      release();
      block_ = std::exchange(other.block_, without_memory());
    }
    return *this;
  }
  ~thin_list() {
    clear();
    release();
  }

  [[nodiscard]] bool empty() const noexcept { return block_->size == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return block_->size; }
  [[nodiscard]] std::size_t capacity() const noexcept { return block_->capacity; }
  [[nodiscard]] T* data() noexcept { return reinterpret_cast<T*>(block_ + 1); }
  [[nodiscard]] const T* data() const noexcept { return reinterpret_cast<const T*>(block_ + 1); }
  [[nodiscard]] T* begin() noexcept { return data(); }
  [[nodiscard]] T* end() noexcept { return data() + block_->size; }
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  [[nodiscard]] const T* end() const noexcept { return data() + block_->size; }
  /// @pre i < size()
  [[nodiscard]] T& operator[](std::size_t i) noexcept {
    SUPERSTEP_ASSERT(i < size());
    return data()[i];
  }
  /// @pre i < size()
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept {
    SUPERSTEP_ASSERT(i < size());
    return data()[i];
  }
  /// @pre !empty()
  [[nodiscard]] T& front() noexcept { return (*this)[0]; }
  /// @pre !empty()
  [[nodiscard]] const T& front() const noexcept { return (*this)[0]; }
  /// @pre !empty()
  [[nodiscard]] T& back() noexcept { return (*this)[size() - 1]; }
  /// @pre !empty()
  [[nodiscard]] const T& back() const noexcept { return (*this)[size() - 1]; }

  /// Constructs an item at the end and returns it.
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (block_->size == block_->capacity) [[unlikely]]
      grow(size() + 1);
    auto* const made = std::construct_at(end(), std::forward<Args>(args)...);
    ++block_->size;
    return *made;
  }
  /// Appends an item, which must not be part of the list.
  void push_back(T&& item) { emplace_back(std::move(item)); }
  /// Appends a copy of an item, which must not be part of the list.
  void push_back(const T& item) { emplace_back(item); }
  /// Removes the last item. @pre !empty()
  void pop_back() noexcept {
    SUPERSTEP_ASSERT(!empty());
    std::destroy_at(end() - 1);
    --block_->size;
  }
  /// Replaces the items by copies of those of a range that is not part of the list.
  template <std::forward_iterator It>
  void assign(It first, It last) {
    clear();
    reserve(static_cast<std::size_t>(std::distance(first, last)));
    for (; first != last; ++first)
      emplace_back(*first);
  }
  /// Adds default items or removes the last ones, until the list has `number` items.
  void resize(std::size_t number) {
    reserve(number);
    while (size() > number)
      pop_back();
    while (size() < number)
      emplace_back();
  }
  /// Removes the items for which `matches` is true.
  template <class Predicate>
  void erase_if(Predicate matches) {
    const auto kept = std::remove_if(begin(), end(), std::move(matches));
    while (end() != kept)
      pop_back();
  }
  /// Destroys the items. Keeps the memory.
  void clear() noexcept {
    if (empty())
      return;
    std::destroy(begin(), end());
    block_->size = 0;
  }
  /// Allocates memory for at least `number` items.
  void reserve(std::size_t number) {
    if (number > block_->capacity)
      grow(number);
  }
  void swap(thin_list& other) noexcept { std::swap(block_, other.block_); }

private:
  static_assert(std::is_nothrow_move_constructible_v<T>);
  static_assert(alignof(T) <= alignof(std::uint64_t) && sizeof(thin_list_header) == 8);

  [[gnu::noinline]] void grow(std::size_t number) {
    constexpr auto max = std::size_t{std::numeric_limits<std::uint32_t>::max()};
    // malloc has no smaller blocks than those with 24 bytes
    constexpr auto least = std::max<std::size_t>(1, 16 / sizeof(T));
    if (number > max)
      throw std::length_error{"a list has more than 4,294,967,295 items"};
    const auto larger = std::min(max, std::max({number, least, std::size_t{2} * capacity()}));
    auto* const to = static_cast<thin_list_header*>(
        ::operator new(sizeof(thin_list_header) + larger * sizeof(T)));
    std::construct_at(to, block_->size, static_cast<std::uint32_t>(larger));
    std::uninitialized_move(begin(), end(), reinterpret_cast<T*>(to + 1));
    std::destroy(begin(), end());
    release();
    block_ = to;
  }

  /// Frees the memory. @pre the items are destroyed
  void release() noexcept {
    if (block_->capacity != 0)
      ::operator delete(block_);
  }

  /// Returns the header of a list without memory, which is never changed.
  [[nodiscard]] static thin_list_header* without_memory() noexcept {
    return const_cast<thin_list_header*>(&thin_list_without_memory);
  }

  thin_list_header* block_ = without_memory(); // the items follow it
};

} // namespace superstep::detail

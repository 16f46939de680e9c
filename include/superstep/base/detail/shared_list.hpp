// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/assert.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace superstep {

/// The place where a change of a shared_list was made.
enum class list_change : unsigned char {
  in_place, ///< in the memory that the list shares with its older copies
  forked,   ///< after copying shared memory: the list no longer shares it with those copies
};

/// The tag type of lists without tags.
struct no_tag {};

/// A persistent list: a copy costs O(1) and never sees later changes of the original, and appending
/// to the newest version costs O(1) amortised.
///
/// Elements are stored in chunks of 32, which a spine (an array of pointers) refers to. A list
/// consists of a spine and a size; copies share spine and chunks. To append, a list claims the slot
/// after its last element with one compare-and-swap. If another copy has already claimed the slot,
/// the list copies the last chunk and the spine first, and no longer shares them.
///
/// Invariant: a slot is written once, by the list that claimed it. It is read only by lists whose
/// size covers it: that list and copies made of it afterwards.
///
/// An element may have a tag, a small value stored in a separate array. Reading all tags does not
/// access the elements, which is much faster if elements are pointers.
///
/// @par Threads
/// Two threads may use two copies at the same time, also to append. They must not use one object.
template <class T, class Tag = no_tag>
  requires std::is_nothrow_move_assignable_v<T> && std::is_default_constructible_v<T> &&
           std::is_trivially_copyable_v<Tag>
class shared_list {
public:
  using value_type = T;
  using tag_type = Tag;
  static constexpr std::size_t chunk_size = 32; ///< elements per chunk

  shared_list() noexcept = default;
  shared_list(const shared_list&) noexcept = default;
  shared_list& operator=(const shared_list&) noexcept = default;
  shared_list(shared_list&& other) noexcept
      : spine_{std::move(other.spine_)}, size_{std::exchange(other.size_, 0)} {}
  shared_list& operator=(shared_list&& other) noexcept {
    spine_ = std::move(other.spine_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  ~shared_list() = default;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// Returns an element, which lives while any list contains it. @pre i < size()
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept {
    SUPERSTEP_ASSERT(i < size_);
    return spine_->chunks[i / chunk_size]->items[i % chunk_size];
  }
  /// Returns the last element. @pre !empty()
  [[nodiscard]] const T& back() const noexcept { return (*this)[size_ - 1]; }

  /// Returns the tags of consecutive elements starting at `first`, up to the end of its chunk: at
  /// least 1, at most chunk_size. Valid while any list contains these elements. @pre first < size()
  [[nodiscard]] std::span<const Tag> tags_from(std::size_t first) const noexcept
    requires(!std::is_empty_v<Tag>)
  {
    SUPERSTEP_ASSERT(first < size_);
    const auto in_chunk = first % chunk_size;
    const auto n = std::min(chunk_size - in_chunk, size_ - first);
    return {spine_->chunks[first / chunk_size]->tags.data() + in_chunk, n};
  }

  /// Appends an element. Returns whether it was added in shared memory or after a copy.
  list_change push_back(T item, Tag tag = {}) {
    const auto c = size_ / chunk_size;
    const auto change = size_ % chunk_size == 0 ? start_chunk(c) : claim_slot(c);
    spine_->chunks[c]->put(size_ % chunk_size, std::move(item), tag);
    ++size_;
    return change;
  }

  /// Replaces an element; copies of this list keep the old one. Costs O(1) if nothing is shared,
  /// else a copy of one chunk and the spine. @pre i < size()
  list_change replace(std::size_t i, T item, Tag tag = {}) {
    SUPERSTEP_ASSERT(i < size_);
    const auto c = i / chunk_size;
    const auto unique = is_sole_reader(i);
    if (!unique) {
      auto changed = copy_of(*spine_->chunks[c], std::min(chunk_size, size_ - c * chunk_size));
      if (spine_->use_count() > 1)
        spine_ = copy_of(*spine_, chunk_count(), spine_->capacity);
      spine_->chunks[c] = std::move(changed);
    }
    spine_->chunks[c]->put(i % chunk_size, std::move(item), tag);
    return unique ? list_change::in_place : list_change::forked;
  }

  /// Whether no other list can read the element, so that it may be changed in place.
  /// @pre i < size()
  [[nodiscard]] bool is_sole_reader(std::size_t i) const noexcept {
    SUPERSTEP_ASSERT(i < size_);
    return spine_->use_count() == 1 && spine_->chunks[i / chunk_size]->use_count() == 1;
  }

  class const_iterator;
  [[nodiscard]] const_iterator begin() const noexcept { return {this, 0}; }
  [[nodiscard]] const_iterator end() const noexcept { return {this, size_}; }

  /// Whether both lists contain equal elements in the same order. Costs O(1) for a list and its
  /// unchanged copy.
  friend bool operator==(const shared_list& a, const shared_list& b) {
    return a.size_ == b.size_ &&
           (a.spine_ == b.spine_ || std::equal(a.begin(), a.end(), b.begin()));
  }

  /// Returns the number of leading elements that both lists have in common. Elements that are not
  /// the same object are compared with `same`. Costs O(1) amortised for a list and a copy to which
  /// elements were appended.
  template <class Same>
  [[nodiscard]] static std::size_t common_prefix(const shared_list& a, const shared_list& b,
                                                 Same same) {
    const auto both = std::min(a.size_, b.size_);
    if (a.spine_ == b.spine_)
      return both;
    // A shared chunk is equal as a whole.
    for (auto i = std::size_t{0}; i < both;) {
      if (i % chunk_size == 0 &&
          a.spine_->chunks[i / chunk_size] == b.spine_->chunks[i / chunk_size]) {
        i += chunk_size;
        continue;
      }
      if (!same(a[i], b[i]))
        return i;
      ++i;
    }
    return both;
  }

private:
  struct chunk : boost::intrusive_ref_counter<chunk, boost::thread_safe_counter> {
    std::atomic<std::size_t> claimed{0};
    std::array<T, chunk_size> items{};
    [[no_unique_address]] std::conditional_t<std::is_empty_v<Tag>, Tag, std::array<Tag, chunk_size>>
        tags{};

    void put(std::size_t at, T item, Tag tag) noexcept {
      items[at] = std::move(item);
      if constexpr (!std::is_empty_v<Tag>)
        tags[at] = tag;
    }
  };
  using chunk_ptr = boost::intrusive_ptr<chunk>;

  struct spine : boost::intrusive_ref_counter<spine, boost::thread_safe_counter> {
    explicit spine(std::size_t n) : capacity{n}, chunks{std::make_unique<chunk_ptr[]>(n)} {}
    // Number of claimed chunks; capacity + 1 if a longer spine has replaced this one.
    std::atomic<std::size_t> claimed{0};
    std::size_t capacity;
    std::unique_ptr<chunk_ptr[]> chunks;
  };
  using spine_ptr = boost::intrusive_ptr<spine>;

  [[nodiscard]] std::size_t chunk_count() const noexcept {
    return (size_ + chunk_size - 1) / chunk_size;
  }

  /// Advances `claimed` from `from` to `from + 1`; true for exactly one caller. Relaxed ordering
  /// suffices: the claimed slot is read only through copies of this list, and passing a copy to
  /// another thread synchronises.
  static bool claim(std::atomic<std::size_t>& claimed, std::size_t from) noexcept {
    return claimed.compare_exchange_strong(from, from + 1, std::memory_order_relaxed);
  }

  static chunk_ptr copy_of(const chunk& from, std::size_t n) {
    auto to = chunk_ptr{new chunk};
    std::copy_n(from.items.begin(), n, to->items.begin());
    if constexpr (!std::is_empty_v<Tag>)
      std::copy_n(from.tags.begin(), n, to->tags.begin());
    to->claimed.store(n, std::memory_order_relaxed);
    return to;
  }

  static spine_ptr copy_of(const spine& from, std::size_t n, std::size_t capacity) {
    auto to = spine_ptr{new spine{capacity}};
    std::copy_n(from.chunks.get(), n, to->chunks.get());
    to->claimed.store(n, std::memory_order_relaxed);
    return to;
  }

  /// Claims the next slot of the last chunk, or copies that chunk if another list has claimed it.
  list_change claim_slot(std::size_t c) {
    const auto used = size_ % chunk_size;
    if (claim(spine_->chunks[c]->claimed, used))
      return list_change::in_place;
    auto own = copy_of(*spine_->chunks[c], used);
    own->claimed.store(used + 1, std::memory_order_relaxed);
    auto longer = copy_of(*spine_, c, spine_->capacity);
    longer->claimed.store(c + 1, std::memory_order_relaxed);
    longer->chunks[c] = std::move(own);
    spine_ = std::move(longer);
    return list_change::forked;
  }

  /// Adds a chunk when all are full: claims the next place in the spine, or copies the spine.
  list_change start_chunk(std::size_t c) {
    auto fresh = chunk_ptr{new chunk};
    fresh->claimed.store(1, std::memory_order_relaxed);
    if (!spine_)
      spine_ = spine_ptr{new spine{2}};
    const auto full = c == spine_->capacity;
    // A longer spine needs the claim as well: if two lists outgrow the same spine, only one of them
    // is changed in place.
    const auto first = claim(spine_->claimed, c);
    if (!first || full) {
      auto longer = copy_of(*spine_, c, full ? c * 2 : spine_->capacity);
      longer->claimed.store(c + 1, std::memory_order_relaxed);
      spine_ = std::move(longer);
    }
    spine_->chunks[c] = std::move(fresh);
    return first ? list_change::in_place : list_change::forked;
  }

  spine_ptr spine_;
  std::size_t size_ = 0;
};

/// Random-access iterator over the elements; invalidated when the list is modified.
template <class T, class Tag>
  requires std::is_nothrow_move_assignable_v<T> && std::is_default_constructible_v<T> &&
           std::is_trivially_copyable_v<Tag>
class shared_list<T, Tag>::const_iterator {
public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = const T*;
  using reference = const T&;

  const_iterator() noexcept = default;
  const_iterator(const shared_list* list, std::size_t at) noexcept : list_{list}, at_{at} {}

  reference operator*() const noexcept { return (*list_)[at_]; }
  pointer operator->() const noexcept { return &(*list_)[at_]; }
  reference operator[](difference_type n) const noexcept { return *(*this + n); }
  const_iterator& operator+=(difference_type n) noexcept {
    at_ += static_cast<std::size_t>(n);
    return *this;
  }
  const_iterator& operator-=(difference_type n) noexcept { return *this += -n; }
  const_iterator& operator++() noexcept { return *this += 1; }
  const_iterator& operator--() noexcept { return *this += -1; }
  const_iterator operator++(int) noexcept { return {list_, at_++}; }
  const_iterator operator--(int) noexcept { return {list_, at_--}; }

  friend const_iterator operator+(const_iterator i, difference_type n) noexcept { return i += n; }
  friend const_iterator operator+(difference_type n, const_iterator i) noexcept { return i += n; }
  friend const_iterator operator-(const_iterator i, difference_type n) noexcept { return i -= n; }
  friend difference_type operator-(const const_iterator& a, const const_iterator& b) noexcept {
    return static_cast<difference_type>(a.at_) - static_cast<difference_type>(b.at_);
  }
  friend bool operator==(const const_iterator& a, const const_iterator& b) noexcept {
    return a.at_ == b.at_;
  }
  friend auto operator<=>(const const_iterator& a, const const_iterator& b) noexcept {
    return a.at_ <=> b.at_;
  }

private:
  const shared_list* list_ = nullptr;
  std::size_t at_ = 0;
};

} // namespace superstep

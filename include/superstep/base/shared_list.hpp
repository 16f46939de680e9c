// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/assert.hpp>

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

/// Whether a change of a shared_list went into the memory it shares with its older copies, as the
/// next element of the one chain they all belong to, or started a chain of its own.
enum class list_change : unsigned char { in_place, forked };

/// The tag of elements that have none.
struct no_tag {};

/// A list that is persistent in the data-structure sense: a copy costs O(1) and never sees what
/// happens to the original later, and still an append to the newest version costs O(1), amortised.
///
/// Elements stand in chunks of 32, found through a spine of pointers. A list is a spine and a size;
/// copies share both spine and chunks. The slots behind the size are free for whoever claims them
/// first, with one compare-and-swap: that list appends in place. A second list that wants the same
/// slot has lost its place in the chain; it copies the last chunk and the spine and goes on alone.
///
/// The rule behind it all: a slot is written once, by the list that claimed it, and read only by
/// lists whose size covers it, which are that list and the copies made of it afterwards.
///
/// An element may have a tag, a small value that stands in a row of its own: a pass over the tags
/// reads nothing else, and so costs a fraction of one over elements that are pointers.
///
/// @par Threads
/// Two copies may be used on two threads at once, appends included. One object may not.
template <class T, class Tag = no_tag>
  requires std::is_nothrow_move_assignable_v<T> && std::is_default_constructible_v<T> &&
           std::is_trivially_copyable_v<Tag>
class shared_list {
public:
  using value_type = T;
  using tag_type = Tag;
  static constexpr std::size_t chunk_size = 32;

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

  /// Valid as long as any copy that holds the element, and until it is replaced in this list.
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept {
    SUPERSTEP_ASSERT(i < size_);
    return spine_->chunks[i / chunk_size]->items[i % chunk_size];
  }
  [[nodiscard]] const T& back() const noexcept { return (*this)[size_ - 1]; }

  /// The tags of the elements from `first` on, as far as they stand in one row: at least one, at
  /// most chunk_size. Valid as the element is.
  [[nodiscard]] std::span<const Tag> tags_from(std::size_t first) const noexcept
    requires(!std::is_empty_v<Tag>)
  {
    SUPERSTEP_ASSERT(first < size_);
    const auto in_chunk = first % chunk_size;
    const auto n = std::min(chunk_size - in_chunk, size_ - first);
    return {spine_->chunks[first / chunk_size]->tags.data() + in_chunk, n};
  }

  /// Appends. Says whether this list is still the newest of its chain.
  list_change push_back(T item, Tag tag = {}) {
    const auto c = size_ / chunk_size;
    const auto change = size_ % chunk_size == 0 ? start_chunk(c) : claim_slot(c);
    spine_->chunks[c]->put(size_ % chunk_size, std::move(item), tag);
    ++size_;
    return change;
  }

  /// Puts another element in the place of one; the copies of this list keep the old one.
  list_change replace(std::size_t i, T item, Tag tag = {}) {
    SUPERSTEP_ASSERT(i < size_);
    const auto c = i / chunk_size;
    const auto unique = spine_->use_count() == 1 && spine_->chunks[c]->use_count() == 1;
    if (!unique) {
      auto changed = copy_of(*spine_->chunks[c], std::min(chunk_size, size_ - c * chunk_size));
      spine_ = copy_of(*spine_, chunk_count(), spine_->capacity);
      spine_->chunks[c] = std::move(changed);
    }
    spine_->chunks[c]->put(i % chunk_size, std::move(item), tag);
    return unique ? list_change::in_place : list_change::forked;
  }

  class const_iterator;
  [[nodiscard]] const_iterator begin() const noexcept { return {this, 0}; }
  [[nodiscard]] const_iterator end() const noexcept { return {this, size_}; }

  /// Same elements in the same order. O(1) for a list and its unchanged copy.
  friend bool operator==(const shared_list& a, const shared_list& b) {
    return a.size_ == b.size_ &&
           (a.spine_ == b.spine_ || std::equal(a.begin(), a.end(), b.begin()));
  }

  /// How many elements from the front the two have in common; elements that are not the same object
  /// are compared by `same`. Costs O(1) for a list and what was appended to a copy of it,
  /// amortised.
  template <class Same>
  [[nodiscard]] static std::size_t common_prefix(const shared_list& a, const shared_list& b,
                                                 Same same) {
    const auto both = std::min(a.size_, b.size_);
    if (a.spine_ == b.spine_)
      return both;
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
    std::atomic<std::size_t> claimed{0}; // capacity + 1: a longer spine has taken its place
    std::size_t capacity;
    std::unique_ptr<chunk_ptr[]> chunks;
  };
  using spine_ptr = boost::intrusive_ptr<spine>;

  [[nodiscard]] std::size_t chunk_count() const noexcept {
    return (size_ + chunk_size - 1) / chunk_size;
  }

  /// True for the one caller that takes `from` to `from + 1`. Relaxed: what a claim guards is read
  /// by copies of the claiming list alone, and whoever hands a copy to another thread synchronises.
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

  /// Takes the next slot of the last chunk, or a copy of that chunk.
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

  /// All chunks are full: takes the next place in the spine, or in a copy of the spine.
  list_change start_chunk(std::size_t c) {
    auto fresh = chunk_ptr{new chunk};
    fresh->claimed.store(1, std::memory_order_relaxed);
    if (!spine_)
      spine_ = spine_ptr{new spine{2}};
    const auto full = c == spine_->capacity;
    // Growing needs the claim as well: of two lists that outgrow one spine, one alone goes on.
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

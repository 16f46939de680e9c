// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/assert.hpp>
#include <superstep/base/detail/small_blocks.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
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
/// Elements are stored in chunks. The first chunks have 4, 4, 8 and 16 slots, because most lists
/// are short; the others have 32. A list of one chunk refers to the chunk itself, a longer one to a
/// spine, an array of pointers to its chunks. Copies share spine and chunks. To append, a list
/// claims the slot after its last element with one compare-and-swap. If another copy has already
/// claimed the slot, the list copies the last chunk and the spine first, and does not share them
/// from then on.
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
  static constexpr std::size_t chunk_size = 32;      ///< elements per chunk, except the first ones
  static constexpr std::size_t first_chunk_size = 4; ///< elements of the first chunk

  shared_list() noexcept = default;
  shared_list(const shared_list&) noexcept = default;
  shared_list& operator=(const shared_list&) noexcept = default;
  shared_list(shared_list&& other) noexcept
      : root_{std::move(other.root_)}, size_{std::exchange(other.size_, 0)} {}
  shared_list& operator=(shared_list&& other) noexcept {
    root_ = std::move(other.root_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  ~shared_list() = default;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// Returns an element, which lives while any list contains it. @pre i < size()
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept {
    SUPERSTEP_ASSERT(i < size_);
    const auto at = place_of(i);
    return chunk_at(at.chunk)->item(at.slot);
  }
  /// Returns the last element. @pre !empty()
  [[nodiscard]] const T& back() const noexcept { return (*this)[size_ - 1]; }

  /// Returns the tags of consecutive elements starting at `first`, up to the end of its chunk: at
  /// least 1, at most chunk_size. Valid while any list contains these elements. @pre first < size()
  [[nodiscard]] std::span<const Tag> tags_from(std::size_t first) const noexcept
    requires(!std::is_empty_v<Tag>)
  {
    SUPERSTEP_ASSERT(first < size_);
    const auto at = place_of(first);
    const auto n = std::min(slots_of(at.chunk) - at.slot, size() - first);
    return {&chunk_at(at.chunk)->tag(at.slot), n};
  }

  /// Appends an element. Returns whether it was added in shared memory or after a copy.
  /// @pre size() < 4,294,967,295
  list_change push_back(T item, Tag tag = {}) {
    SUPERSTEP_ASSERT(size_ < std::numeric_limits<std::uint32_t>::max());
    const auto at = place_of(size_);
    const auto change = at.slot == 0 ? start_chunk(at.chunk) : claim_slot(at);
    ++size_;
    chunk_at(at.chunk)->put(at.slot, std::move(item), tag);
    return change;
  }

  /// Replaces an element; copies of this list keep the old one. Costs O(1) if nothing is shared,
  /// else a copy of one chunk and the spine. @pre i < size()
  list_change replace(std::size_t i, T item, Tag tag = {}) {
    SUPERSTEP_ASSERT(i < size_);
    const auto at = place_of(i);
    const auto unique = is_sole_reader(i);
    if (!unique) {
      const auto last = place_of(size_ - 1);
      auto changed =
          copy_of(*chunk_at(at.chunk), at.chunk == last.chunk ? last.slot + 1 : slots_of(at.chunk));
      if (!has_spine()) {
        root_ = std::move(changed);
      } else {
        if (root_->use_count() > 1)
          root_ = copy_of(of_spine(), last.chunk + 1, of_spine().capacity);
        of_spine().chunk_at(at.chunk) = std::move(changed);
      }
    }
    chunk_at(at.chunk)->put(at.slot, std::move(item), tag);
    return unique ? list_change::in_place : list_change::forked;
  }

  /// Whether no other list can read the element, so that it may be changed in place.
  /// @pre i < size()
  [[nodiscard]] bool is_sole_reader(std::size_t i) const noexcept {
    SUPERSTEP_ASSERT(i < size_);
    return root_->use_count() == 1 && chunk_at(place_of(i).chunk)->use_count() == 1;
  }

  class const_iterator;
  [[nodiscard]] const_iterator begin() const noexcept { return {this, 0}; }
  [[nodiscard]] const_iterator end() const noexcept { return {this, size_}; }

  /// Whether both lists contain equal elements in the same order. Costs O(1) for a list and its
  /// unchanged copy.
  friend bool operator==(const shared_list& a, const shared_list& b) {
    return a.size_ == b.size_ && (a.root_ == b.root_ || std::equal(a.begin(), a.end(), b.begin()));
  }

  /// Returns the number of leading elements that both lists have in common. Elements that are not
  /// the same object are compared with `same`. Costs O(1) amortised for a list and a copy to which
  /// elements were appended.
  template <class Same>
  [[nodiscard]] static std::size_t common_prefix(const shared_list& a, const shared_list& b,
                                                 Same same) {
    const auto both = std::min(a.size(), b.size());
    if (a.root_ == b.root_)
      return both;
    // A shared chunk is equal as a whole.
    for (auto i = std::size_t{0}; i < both;) {
      const auto at = place_of(i);
      if (at.slot == 0 && a.chunk_at(at.chunk) == b.chunk_at(at.chunk)) {
        i = std::min(both, i + slots_of(at.chunk));
        continue;
      }
      if (!same(a[i], b[i]))
        return i;
      ++i;
    }
    return both;
  }

private:
  /// The slot of an element.
  struct place {
    std::size_t chunk;
    std::size_t slot;
  };
  // The chunks for the first 32 elements: each has as many slots as those before it together.
  static constexpr std::size_t small_chunks = std::bit_width(chunk_size / first_chunk_size - 1) + 1;
  static_assert(std::has_single_bit(chunk_size) && std::has_single_bit(first_chunk_size));
  static constexpr std::size_t spine_size = 4; // chunks of the first spine: those of 32 elements

  [[nodiscard]] static constexpr place place_of(std::size_t i) noexcept {
    if (i >= chunk_size)
      return {small_chunks - 1 + i / chunk_size, i % chunk_size};
    const auto chunk = static_cast<std::size_t>(std::bit_width(i / first_chunk_size));
    return {chunk, chunk == 0 ? i : i - slots_of(chunk)};
  }
  /// The number of slots of a chunk.
  [[nodiscard]] static constexpr std::size_t slots_of(std::size_t chunk) noexcept {
    return chunk >= small_chunks ? chunk_size
           : chunk == 0          ? first_chunk_size
                                 : first_chunk_size << (chunk - 1);
  }

  /// The header of a block that continues with other data: a chunk or a spine, with the number of
  /// lists and spines that refer to it.
  struct block {
    explicit block(bool spine) noexcept : is_spine{spine} {}
    block(const block&) = delete;
    block& operator=(const block&) = delete;

    /// Destroys a chunk or a spine and frees its memory.
    template <class Block>
    static void destroy(Block* b) noexcept {
      const auto bytes = b->bytes();
      std::destroy_at(b);
      detail::free_block(b, bytes);
    }
    [[nodiscard]] std::uint32_t use_count() const noexcept {
      return uses.load(std::memory_order_acquire);
    }
    friend void intrusive_ptr_add_ref(block* b) noexcept {
      b->uses.fetch_add(1, std::memory_order_relaxed);
    }
    friend void intrusive_ptr_release(block* b) noexcept {
      if (b->uses.fetch_sub(1, std::memory_order_acq_rel) == 1)
        destroy_unused(b);
    }
    // Not inlined, because most lists that are destroyed are empty or share their block.
    [[gnu::noinline]] static void destroy_unused(block* b) noexcept {
      if (b->is_spine)
        block::destroy(static_cast<spine*>(b));
      else
        block::destroy(static_cast<chunk*>(b));
    }

    std::atomic<std::uint32_t> uses{0};
    const bool is_spine;

  protected:
    ~block() = default;
  };

  /// The header of a block that continues with the items of the slots and then with their tags.
  struct alignas(std::max(alignof(T), alignof(std::size_t))) chunk : block {
    [[nodiscard]] static chunk* make(std::size_t slots) {
      return detail::empty_block{bytes_of(slots)}.template release<chunk>(slots);
    }
    /// The size of the block of a chunk.
    [[nodiscard]] static std::size_t bytes_of(std::size_t slots) noexcept {
      return sizeof(chunk) + slots * (sizeof(T) + (std::is_empty_v<Tag> ? 0 : sizeof(Tag)));
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_of(slots); }
    explicit chunk(std::size_t n) : block{false}, slots{static_cast<std::uint8_t>(n)} {
      std::uninitialized_value_construct_n(items(), slots);
      if constexpr (!std::is_empty_v<Tag>)
        std::uninitialized_value_construct_n(tags(), slots);
    }
    chunk(const chunk&) = delete;
    chunk& operator=(const chunk&) = delete;
    ~chunk() { std::destroy_n(items(), slots); }

    [[nodiscard]] T& item(std::size_t slot) noexcept { return items()[slot]; }
    [[nodiscard]] Tag& tag(std::size_t slot) noexcept
      requires(!std::is_empty_v<Tag>)
    {
      return tags()[slot];
    }
    void put(std::size_t slot, T value, Tag mark) noexcept {
      item(slot) = std::move(value);
      if constexpr (!std::is_empty_v<Tag>)
        tag(slot) = mark;
    }

    const std::uint8_t slots; ///< number of slots
    /// Number of the next slot that is not claimed. In a first chunk, slots + 1 if a list has
    /// started the second one.
    std::atomic<std::size_t> claimed{0};

  private:
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    static_assert(std::is_empty_v<Tag> || alignof(Tag) <= alignof(T));

    [[nodiscard]] T* items() noexcept { return reinterpret_cast<T*>(this + 1); }
    [[nodiscard]] Tag* tags() noexcept { return reinterpret_cast<Tag*>(items() + slots); }
  };
  using chunk_ptr = boost::intrusive_ptr<chunk>;

  /// The header of a block that continues with the pointers to the chunks.
  struct spine : block {
    [[nodiscard]] static spine* make(std::size_t capacity) {
      return detail::empty_block{bytes_of(capacity)}.template release<spine>(capacity);
    }
    /// The size of the block of a spine.
    [[nodiscard]] static std::size_t bytes_of(std::size_t capacity) noexcept {
      return sizeof(spine) + capacity * sizeof(chunk_ptr);
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_of(capacity); }
    explicit spine(std::size_t n) noexcept : block{true}, capacity{n} {
      std::uninitialized_value_construct_n(&chunk_at(0), n);
    }
    spine(const spine&) = delete;
    spine& operator=(const spine&) = delete;
    ~spine() { std::destroy_n(&chunk_at(0), capacity); }

    [[nodiscard]] chunk_ptr& chunk_at(std::size_t i) noexcept {
      return reinterpret_cast<chunk_ptr*>(this + 1)[i];
    }
    // Number of claimed chunks; capacity + 1 if a longer spine has replaced this one.
    std::atomic<std::size_t> claimed{0};
    const std::size_t capacity;
  };
  using spine_ptr = boost::intrusive_ptr<spine>;

  /// Advances `claimed` from `from` to `from + 1`; true for exactly one caller. Relaxed ordering
  /// suffices: the claimed slot is read only through copies of this list, and passing a copy to
  /// another thread synchronises.
  static bool claim(std::atomic<std::size_t>& claimed, std::size_t from) noexcept {
    return claimed.compare_exchange_strong(from, from + 1, std::memory_order_relaxed);
  }

  /// Returns a copy of a chunk with the items of the slots before `end`.
  static chunk_ptr copy_of(chunk& from, std::size_t end) {
    auto to = chunk_ptr{chunk::make(from.slots)};
    std::copy_n(&from.item(0), end, &to->item(0));
    if constexpr (!std::is_empty_v<Tag>)
      std::copy_n(&from.tag(0), end, &to->tag(0));
    to->claimed.store(end, std::memory_order_relaxed);
    return to;
  }

  static spine_ptr copy_of(spine& from, std::size_t n, std::size_t capacity) {
    auto to = spine_ptr{spine::make(capacity)};
    std::copy_n(&from.chunk_at(0), n, &to->chunk_at(0));
    to->claimed.store(n, std::memory_order_relaxed);
    return to;
  }

  [[nodiscard]] bool has_spine() const noexcept { return root_->is_spine; }
  /// @pre has_spine()
  [[nodiscard]] spine& of_spine() const noexcept { return static_cast<spine&>(*root_); }
  /// @pre the list has the chunk
  [[nodiscard]] chunk* chunk_at(std::size_t i) const noexcept {
    return has_spine() ? of_spine().chunk_at(i).get() : static_cast<chunk*>(root_.get());
  }

  /// Claims the next slot of the last chunk, or copies that chunk if another list has claimed it.
  list_change claim_slot(place at) {
    auto& last = *chunk_at(at.chunk);
    if (claim(last.claimed, at.slot))
      return list_change::in_place;
    auto own = copy_of(last, at.slot);
    own->claimed.store(at.slot + 1, std::memory_order_relaxed);
    if (!has_spine()) {
      root_ = std::move(own);
      return list_change::forked;
    }
    auto longer = copy_of(of_spine(), at.chunk, of_spine().capacity);
    longer->claimed.store(at.chunk + 1, std::memory_order_relaxed);
    longer->chunk_at(at.chunk) = std::move(own);
    root_ = std::move(longer);
    return list_change::forked;
  }

  /// Adds a chunk when all are full. The second chunk needs a spine, a later one the next place in
  /// it or in a longer one.
  list_change start_chunk(std::size_t c) {
    auto fresh = chunk_ptr{chunk::make(slots_of(c))};
    fresh->claimed.store(1, std::memory_order_relaxed);
    if (c == 0) {
      root_ = std::move(fresh);
      return list_change::in_place;
    }
    auto first = false; // whether no other list has continued here: only one is changed in place
    if (!has_spine()) {
      auto& only = static_cast<chunk&>(*root_);
      auto both = spine_ptr{spine::make(spine_size)};
      first = claim(only.claimed, only.slots);
      both->claimed.store(2, std::memory_order_relaxed);
      both->chunk_at(0) = &only;
      root_ = std::move(both);
    } else {
      const auto full = c == of_spine().capacity;
      first = claim(of_spine().claimed, c);
      if (!first || full) {
        auto longer = copy_of(of_spine(), c, full ? c * 2 : of_spine().capacity);
        longer->claimed.store(c + 1, std::memory_order_relaxed);
        root_ = std::move(longer);
      }
    }
    of_spine().chunk_at(c) = std::move(fresh);
    return first ? list_change::in_place : list_change::forked;
  }

  boost::intrusive_ptr<block> root_; // null, the only chunk or the spine
  std::uint32_t size_ = 0;
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

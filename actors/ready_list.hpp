// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/assert.hpp>

#include <cstdint>

namespace superstep {

/// The action of a lane for an entry of its ready queue.
enum class ready_kind : std::uint8_t {
  drive,      ///< start the next tasks of a run, or take it to its next step
  start_fork, ///< start the next forked call of a run
  start_call, ///< start a call
  resume,     ///< resume the body of a call
};

/// The links of an entry or of the head of a ready_list.
struct ready_link {
  ready_link() = default;
  ready_link(const ready_link&) = delete;
  ready_link& operator=(const ready_link&) = delete;

  ready_link* next = nullptr;
  ready_link* prev = nullptr;
};

/// An entry of a ready_list. It is part of the run or call that it concerns.
class ready_entry : public ready_link {
public:
  ready_entry(ready_kind k, void* owner) noexcept : owner_and_kind_{packed(k, owner)} {}

  [[nodiscard]] bool is_listed() const noexcept { return next != nullptr; }
  [[nodiscard]] void* owner() const noexcept {
    return reinterpret_cast<void*>(owner_and_kind_ & ~kind_bits);
  }
  [[nodiscard]] ready_kind kind() const noexcept {
    return static_cast<ready_kind>(owner_and_kind_ & kind_bits);
  }
  void set_kind(ready_kind k) noexcept { owner_and_kind_ = packed(k, owner()); }
  void set_owner(void* owner) noexcept { owner_and_kind_ = packed(kind(), owner); }

private:
  /// The bits of the kind. They are 0 in the address of a run or call.
  static constexpr auto kind_bits = std::uintptr_t{3};
  [[nodiscard]] static std::uintptr_t packed(ready_kind k, void* owner) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(owner);
    SUPERSTEP_ASSERT((address & kind_bits) == 0);
    return address | static_cast<std::uintptr_t>(k);
  }

  std::uintptr_t owner_and_kind_; // one word, because each run and call has an entry
};

/// A list of runs and calls that have something to do, in order. It does not allocate. Adding and
/// removing an entry takes constant time.
class ready_list {
public:
  ready_list() noexcept { head_.next = head_.prev = &head_; }
  ready_list(const ready_list&) = delete;
  ready_list& operator=(const ready_list&) = delete;

  [[nodiscard]] bool empty() const noexcept { return head_.next == &head_; }
  [[nodiscard]] ready_entry* front() const noexcept {
    return empty() ? nullptr : static_cast<ready_entry*>(head_.next);
  }
  /// Returns the number of entries, but at most `max`. Takes linear time.
  [[nodiscard]] std::uint32_t count(std::uint32_t max) const noexcept {
    auto n = std::uint32_t{0};
    for (const ready_link* e = head_.next; e != &head_ && n < max; e = e->next)
      ++n;
    return n;
  }
  /// Adds an entry at the end. Does nothing if the entry is in a list.
  void push_back(ready_entry& e) noexcept { insert(e, *head_.prev, head_); }
  /// Adds an entry at the front. Does nothing if the entry is in a list.
  void push_front(ready_entry& e) noexcept { insert(e, head_, *head_.next); }
  /// Removes and returns the first entry. @pre !empty()
  [[nodiscard]] ready_entry& pop_front() noexcept {
    SUPERSTEP_ASSERT(!empty());
    auto& first = static_cast<ready_entry&>(*head_.next);
    remove(first);
    return first;
  }
  /// Removes an entry from the list that contains it. Does nothing if the entry is in no list.
  static void remove(ready_entry& e) noexcept {
    if (!e.is_listed())
      return;
    SUPERSTEP_ASSERT(e.prev->next == &e && e.next->prev == &e);
    e.prev->next = e.next;
    e.next->prev = e.prev;
    e.next = e.prev = nullptr;
  }

private:
  static void insert(ready_entry& e, ready_link& before, ready_link& after) noexcept {
    if (e.is_listed())
      return;
    SUPERSTEP_ASSERT(before.next == &after && after.prev == &before);
    e.prev = &before;
    e.next = &after;
    before.next = after.prev = &e;
  }

  ready_link head_;
};

/// The ready entries of an outermost run: its own, and those of its calls and nested runs. In a
/// queue if and only if it has entries.
struct ready_group {
  ready_group() = default;
  ready_group(const ready_group&) = delete;
  ready_group& operator=(const ready_group&) = delete;

  ready_list entries;
  ready_entry turn{ready_kind::drive, this}; ///< the group's turn in the queue; its kind is unused
};

/// The groups of a lane that have ready entries. The groups take turns: a run with 100,000 bodies
/// to resume delays another run by one body only. The entries of one group keep their order. Does
/// not allocate; all functions take constant time.
class ready_queue {
public:
  [[nodiscard]] bool empty() const noexcept { return groups_.empty(); }
  /// Returns the number of groups, but at most `max`. Takes linear time.
  [[nodiscard]] std::uint32_t count(std::uint32_t max) const noexcept { return groups_.count(max); }
  /// Adds an entry at the end of a group. Does nothing if the entry is in a list.
  void push_back(ready_group& g, ready_entry& e) noexcept {
    if (e.is_listed())
      return;
    SUPERSTEP_ASSERT(g.turn.is_listed() == !g.entries.empty());
    g.entries.push_back(e);
    groups_.push_back(g.turn);
  }
  /// Adds an entry at the front of a group. The group is handled next, unless it is in the queue.
  /// Does nothing if the entry is in a list.
  void push_front(ready_group& g, ready_entry& e) noexcept {
    if (e.is_listed())
      return;
    g.entries.push_front(e);
    groups_.push_front(g.turn);
  }
  /// Removes and returns the first entry of the first group. The group moves to the end of the
  /// queue. @pre !empty()
  [[nodiscard]] ready_entry& pop_front() noexcept {
    auto& g = *static_cast<ready_group*>(groups_.pop_front().owner());
    auto& first = g.entries.pop_front();
    if (!g.entries.empty())
      groups_.push_back(g.turn);
    return first;
  }
  /// Removes an entry from the group, or from any other list that contains it. Does nothing if the
  /// entry is in no list.
  static void remove(ready_group& g, ready_entry& e) noexcept {
    ready_list::remove(e);
    if (g.entries.empty())
      ready_list::remove(g.turn);
  }

private:
  ready_list groups_; // the turns of the groups
};

} // namespace superstep

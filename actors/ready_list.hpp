// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/assert.hpp>

#include <cstdint>

namespace superstep {

/// The action of a lane for an entry of its ready list.
enum class ready_kind : std::uint8_t {
  drive,      ///< start the next tasks of a run, or take it to its next step
  start_fork, ///< start the next forked call of a run
  start_call, ///< start a call
  resume,     ///< resume the body of a call
};

/// An entry of a ready_list. It is part of the run or call that it concerns.
struct ready_entry {
  ready_entry(ready_kind k, void* o) noexcept : owner{o}, kind{k} {}
  ready_entry(const ready_entry&) = delete;
  ready_entry& operator=(const ready_entry&) = delete;

  [[nodiscard]] bool is_listed() const noexcept { return next != nullptr; }

  ready_entry* next = nullptr;
  ready_entry* prev = nullptr;
  void* owner;
  ready_kind kind;
};

/// A list of runs and calls that have something to do, in the order in which a lane handles them.
/// It does not allocate. Adding and removing an entry takes constant time.
class ready_list {
public:
  ready_list() noexcept { head_.next = head_.prev = &head_; }
  ready_list(const ready_list&) = delete;
  ready_list& operator=(const ready_list&) = delete;

  [[nodiscard]] bool empty() const noexcept { return head_.next == &head_; }
  [[nodiscard]] ready_entry* front() const noexcept { return empty() ? nullptr : head_.next; }
  /// Adds an entry at the end. Does nothing if the entry is in a list.
  void push_back(ready_entry& e) noexcept { insert(e, *head_.prev, head_); }
  /// Adds an entry at the front. Does nothing if the entry is in a list.
  void push_front(ready_entry& e) noexcept { insert(e, head_, *head_.next); }
  /// Removes and returns the first entry. @pre !empty()
  [[nodiscard]] ready_entry& pop_front() noexcept {
    SUPERSTEP_ASSERT(!empty());
    auto& first = *head_.next;
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
  static void insert(ready_entry& e, ready_entry& before, ready_entry& after) noexcept {
    if (e.is_listed())
      return;
    SUPERSTEP_ASSERT(before.next == &after && after.prev == &before);
    e.prev = &before;
    e.next = &after;
    before.next = after.prev = &e;
  }

  ready_entry head_{ready_kind::drive, nullptr};
};

} // namespace superstep

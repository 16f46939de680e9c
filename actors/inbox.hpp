// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace superstep {

/// Reverses a list that is linked by `next`, and returns its new head.
template <class T>
[[nodiscard]] T* oldest_first(T* newest) noexcept {
  auto* oldest = static_cast<T*>(nullptr);
  while (newest != nullptr) {
    auto* const older = static_cast<T*>(newest->next); // `next` may be of a base class
    newest->next = oldest;
    oldest = newest;
    newest = older;
  }
  return oldest;
}

/// A queue with many writers and one reader. Writers push intrusive items (with a member `next`) to
/// a lock-free stack. The reader takes the whole stack and reverses it into the order of arrival.
/// Does not allocate or lock, and does not own the items.
template <class T>
class inbox {
public:
  /// Adds an item; thread-safe. Returns false if the inbox is closed; the caller then still owns
  /// the item.
  [[nodiscard]] bool push(T* item) noexcept {
    auto* head = head_.load(std::memory_order_relaxed);
    do {
      if (head == closed_mark())
        return false;
      item->next = head;
    } while (!head_.compare_exchange_weak(head, item, std::memory_order_seq_cst,
                                          std::memory_order_relaxed));
    return true;
  }

  /// Takes all items, oldest first, linked by `next`; returns null if there are none. Called by the
  /// reader.
  [[nodiscard]] T* take_all() noexcept {
    auto* head = head_.load(std::memory_order_relaxed);
    // a loop, because another thread may close the inbox meanwhile and it must then stay closed
    do {
      if (head == nullptr || head == closed_mark())
        return nullptr;
    } while (!head_.compare_exchange_weak(head, nullptr, std::memory_order_acquire,
                                          std::memory_order_relaxed));
    return oldest_first(head);
  }

  /// Takes the remaining items, like take_all(), and refuses later ones. Thread-safe.
  [[nodiscard]] T* close() noexcept {
    auto* const head = head_.exchange(closed_mark(), std::memory_order_acq_rel);
    return head == closed_mark() ? nullptr : oldest_first(head);
  }

  [[nodiscard]] bool empty() const noexcept {
    const auto* const head = head_.load(std::memory_order_seq_cst);
    return head == nullptr || head == closed_mark();
  }

private:
  /// The value of head_ that means "closed": an address that no item can have.
  [[nodiscard]] T* closed_mark() const noexcept {
    return reinterpret_cast<T*>(const_cast<inbox*>(this));
  }

  std::atomic<T*> head_{nullptr};
};

} // namespace superstep

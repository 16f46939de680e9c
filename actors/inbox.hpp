// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace superstep {

/// A queue with many writers and one reader: a stack of intrusive items (member `next`) that the
/// reader takes as a whole and reverses into the order of arrival. No allocation, no lock; owns
/// nothing.
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

  /// Called by the reader: takes all items, oldest first, linked by `next`; null if there are none.
  [[nodiscard]] T* take_all() noexcept {
    auto* head = head_.load(std::memory_order_relaxed);
    do { // another thread may close it meanwhile, and it must then stay closed
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
  /// An address that cannot be an item's.
  [[nodiscard]] T* closed_mark() const noexcept {
    return reinterpret_cast<T*>(const_cast<inbox*>(this));
  }

  [[nodiscard]] static T* oldest_first(T* newest) noexcept {
    auto* oldest = static_cast<T*>(nullptr);
    while (newest != nullptr) {
      auto* older = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = older;
    }
    return oldest;
  }

  std::atomic<T*> head_{nullptr};
};

} // namespace superstep

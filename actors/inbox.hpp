// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace superstep {

/// Many writers, one reader: a stack of intrusive items (member `next`), taken whole and turned
/// into the order of arrival. No allocation, no lock; owns nothing.
template <class T>
class inbox {
public:
  /// Any thread.
  void push(T* item) noexcept {
    auto* head = head_.load(std::memory_order_relaxed);
    do {
      item->next = head;
    } while (!head_.compare_exchange_weak(head, item, std::memory_order_seq_cst,
                                          std::memory_order_relaxed));
  }

  /// The reader: all items, oldest first, linked by `next`; null when there are none.
  [[nodiscard]] T* take_all() noexcept {
    if (head_.load(std::memory_order_relaxed) == nullptr)
      return nullptr;
    auto* newest = head_.exchange(nullptr, std::memory_order_acquire);
    auto* oldest = static_cast<T*>(nullptr);
    while (newest != nullptr) {
      auto* older = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = older;
    }
    return oldest;
  }

  [[nodiscard]] bool empty() const noexcept {
    return head_.load(std::memory_order_seq_cst) == nullptr;
  }

private:
  std::atomic<T*> head_{nullptr};
};

} // namespace superstep

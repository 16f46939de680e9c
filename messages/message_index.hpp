// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace superstep::detail {

/// An index of the messages of a conversation by id. A message_list and its older, shorter copies
/// share one index. The state is copied in every step, and neither the copy nor the next lookup
/// should rebuild the index.
///
/// The index stores hashes and positions. A lookup checks that the position is inside the given
/// list and that the message there has the id. Messages that only a longer list contains are
/// therefore not found in its older copies. A list that is changed so that it no longer continues
/// its copies (list_change::forked) drops the shared index.
///
/// @par Threads
/// May be used by any thread. A mutex protects the index, because two threads may apply a reducer
/// to copies of one list at the same time.
class message_index {
public:
  /// Returns the last position in `items` whose message has the id. First indexes the messages
  /// appended since the last call.
  std::optional<std::size_t> find(const shared_list<message_ptr, message_type>& items,
                                  std::string_view id) {
    const auto lock = std::scoped_lock{mutex_};
    for (; indexed_ < items.size(); ++indexed_)
      positions_.emplace(hash(items[indexed_]->id), indexed_);
    auto found = std::optional<std::size_t>{};
    const auto [first, last] = positions_.equal_range(hash(id));
    for (auto entry = first; entry != last; ++entry) {
      const auto at = entry->second;
      if (at < items.size() && items[at]->id == id && (!found || *found < at))
        found = at;
    }
    return found;
  }

private:
  friend void intrusive_ptr_add_ref(message_index*) noexcept;
  friend void intrusive_ptr_release(message_index*) noexcept;

  static std::size_t hash(std::string_view id) noexcept {
    return std::hash<std::string_view>{}(id);
  }

  std::mutex mutex_;
  std::unordered_multimap<std::size_t, std::size_t> positions_;
  std::size_t indexed_ = 0;
  std::atomic<std::uint32_t> lists_{0}; // number of lists that share the index
};

} // namespace superstep::detail

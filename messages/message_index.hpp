// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message_list.hpp>

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace superstep::detail {

/// Where the messages of one conversation stand, by id. Shared by the newest list of a chain and
/// its older copies, so that keeping the state of every step neither copies nor rebuilds it.
///
/// It holds hashes and positions, no texts: an entry counts for a list only if the position lies in
/// that list and the message there has the id. Entries that a longer list added are thereby
/// invisible to its older copies. A list that leaves the chain (list_change::forked) lets go of it.
///
/// @par Threads
/// Any: copies of a list may be reduced on two threads at once.
class message_index {
public:
  /// The last position in `items` whose message has the id; takes in what was appended meanwhile.
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
  static std::size_t hash(std::string_view id) noexcept {
    return std::hash<std::string_view>{}(id);
  }

  std::mutex mutex_;
  std::unordered_multimap<std::size_t, std::size_t> positions_;
  std::size_t indexed_ = 0;
};

} // namespace superstep::detail

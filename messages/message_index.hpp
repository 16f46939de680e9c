// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace superstep::detail {

/// Positions of the messages of one conversation by id. Shared by the newest list of a chain and
/// its older copies, so that saving the state of every step neither copies nor rebuilds the index.
///
/// Stores hashes and positions, not texts. An entry is valid for a list only if its position is
/// inside that list and the message there has the id. Entries added by a longer list are therefore
/// invisible to its older copies. A list that leaves the chain (list_change::forked) drops the
/// index.
///
/// @par Threads
/// Any; a mutex protects it, because copies of a list may be reduced by two threads at the same
/// time.
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
  static std::size_t hash(std::string_view id) noexcept {
    return std::hash<std::string_view>{}(id);
  }

  std::mutex mutex_;
  std::unordered_multimap<std::size_t, std::size_t> positions_;
  std::size_t indexed_ = 0;
};

} // namespace superstep::detail

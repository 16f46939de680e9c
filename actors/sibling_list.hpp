// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/assert.hpp>

#include <functional>

namespace superstep {

/// A list of records that have the same parent, linked by two of their members. The parent stores
/// the first record. The list does not allocate; all functions take constant time.
template <class Record, auto Next, auto Prev>
struct sibling_list {
  /// Adds a record at the front.
  static void link(Record*& first, Record& added) noexcept {
    SUPERSTEP_ASSERT(next(added) == nullptr && prev(added) == nullptr && first != &added);
    next(added) = first;
    if (first != nullptr)
      prev(*first) = &added;
    first = &added;
  }
  /// Removes a record. Does nothing if it is not in the list.
  static void unlink(Record*& first, Record& removed) noexcept {
    auto* const following = next(removed);
    auto* const before = prev(removed);
    SUPERSTEP_ASSERT(following == nullptr || prev(*following) == &removed);
    SUPERSTEP_ASSERT(before == nullptr || next(*before) == &removed);
    if (following != nullptr)
      prev(*following) = before;
    if (before != nullptr)
      next(*before) = following;
    else if (first == &removed)
      first = following;
    next(removed) = prev(removed) = nullptr;
  }

private:
  static Record*& next(Record& of) noexcept { return std::invoke(Next, of); }
  static Record*& prev(Record& of) noexcept { return std::invoke(Prev, of); }
};

} // namespace superstep

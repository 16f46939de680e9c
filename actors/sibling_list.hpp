// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/assert.hpp>

namespace superstep {

/// A list of records that have the same parent, linked by two of their members. The parent stores
/// the first record. The list does not allocate; all functions take constant time.
template <class Record, Record* Record::*Next, Record* Record::*Prev>
struct sibling_list {
  /// Adds a record at the front.
  static void link(Record*& first, Record& added) noexcept {
    SUPERSTEP_ASSERT(added.*Next == nullptr && added.*Prev == nullptr && first != &added);
    added.*Next = first;
    if (first != nullptr)
      first->*Prev = &added;
    first = &added;
  }
  /// Removes a record. Does nothing if it is not in the list.
  static void unlink(Record*& first, Record& removed) noexcept {
    auto* const following = removed.*Next;
    auto* const before = removed.*Prev;
    SUPERSTEP_ASSERT(following == nullptr || following->*Prev == &removed);
    SUPERSTEP_ASSERT(before == nullptr || before->*Next == &removed);
    if (following != nullptr)
      following->*Prev = before;
    if (before != nullptr)
      before->*Next = following;
    else if (first == &removed)
      first = following;
    removed.*Next = removed.*Prev = nullptr;
  }
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace superstep {

/// The records of one kind of a lane. Owns all of them and lists those that are free. Records are
/// reused, the latest first, and destroyed only with the pool.
template <class T>
class record_pool {
public:
  /// Returns a free record, or a new one if none is free. Throws std::bad_alloc, and what `make`
  /// throws; the pool is then unchanged.
  /// @param make returns a std::unique_ptr to a new record
  template <class Make>
  [[nodiscard]] T& take(Make make) {
    if (free_.empty()) {
      if (records_.size() == records_.capacity())
        grow();
      records_.push_back(make());
      return *records_.back();
    }
    auto& taken = *free_.back();
    free_.pop_back();
    return taken;
  }
  /// Lists a record as free. Does not allocate.
  void put_back(T& record) noexcept {
    SUPERSTEP_ASSERT(free_.size() < records_.size());
    free_.push_back(&record);
  }
  /// All records, also the free ones, in the order in which they were made.
  [[nodiscard]] const std::vector<std::unique_ptr<T>>& all() const noexcept { return records_; }
  /// The number of records that are not free.
  [[nodiscard]] std::size_t used() const noexcept { return records_.size() - free_.size(); }
  /// The number of free records.
  [[nodiscard]] std::size_t free() const noexcept { return free_.size(); }
  /// Returns how often a record is listed as free: once or never. The time is proportional to
  /// free().
  [[nodiscard]] std::size_t times_free(const T& record) const noexcept {
    return static_cast<std::size_t>(std::ranges::count(free_, &record));
  }

private:
  /// Doubles the capacity of both lists, so that put_back() need not allocate.
  void grow() {
    constexpr auto least = std::size_t{16};
    const auto capacity = std::max(least, 2 * records_.size());
    free_.reserve(capacity);
    records_.reserve(capacity);
  }

  std::vector<std::unique_ptr<T>> records_;
  std::vector<T*> free_; // has at least the capacity of records_
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

struct sqlite3;

namespace superstep::detail {

/// Checks whether a query must end while a long function call runs. SQLite calls its progress
/// handler only between operations, and a function call is one operation.
class function_watch {
public:
  /// Type of a progress handler; a result other than 0 ends the query.
  using question = int (*)(void* of);

  function_watch() = default; ///< never ends a query
  function_watch(question ask, void* of) noexcept : ask_{ask}, of_{of} {}

  /// Adds `steps` to the work done, each of a few nanoseconds. Returns whether the query must end.
  [[nodiscard]] bool is_over_after(std::size_t steps) {
    constexpr auto steps_between_questions = std::size_t{1} << 14U;
    steps_ += steps;
    if (steps_ < steps_between_questions || ask_ == nullptr)
      return false;
    steps_ = 0;
    return ask_(of_) != 0;
  }

private:
  question ask_ = nullptr;
  void* of_ = nullptr;
  std::size_t steps_ = 0;
};

/// Replaces LIKE and GLOB on a connection, which must be closed before `watch` is destroyed. The
/// results are those of SQLite's own functions. A call takes at most time proportional to the
/// product of the lengths of text and pattern, and fails with SQLITE_INTERRUPT when the query must
/// end. SQLite does not use an index for a replaced LIKE or GLOB. Returns whether both were
/// replaced.
[[nodiscard]] bool replace_like(sqlite3* db, function_watch& watch);

} // namespace superstep::detail

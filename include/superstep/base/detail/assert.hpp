// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Checks an invariant of superstep itself; prints the location and aborts if it does not hold.
/// Active in all builds except plain release builds, which do not evaluate the expression. Mistakes
/// of users are not asserted but reported as `error` or exceptions.
#if defined(SUPERSTEP_ASSERTIONS)
#  define SUPERSTEP_ASSERT(condition)                                                              \
    ((condition) ? static_cast<void>(0)                                                            \
                 : ::superstep::detail::assertion_failed(#condition, __FILE__, __LINE__))
#else
#  define SUPERSTEP_ASSERT(condition) static_cast<void>(sizeof((condition) ? 1 : 0))
#endif

namespace superstep::detail {
/// Prints the failed condition and its location to standard error, and aborts.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;
} // namespace superstep::detail

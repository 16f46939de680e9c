// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Checks an invariant of superstep itself; prints the location and aborts if it does not hold.
/// Active in all builds except plain release, where the expression is not evaluated. Errors of
/// users are reported as `error` or exceptions instead.
#if defined(SUPERSTEP_ASSERTIONS)
#  define SUPERSTEP_ASSERT(condition)                                                              \
    ((condition) ? static_cast<void>(0)                                                            \
                 : ::superstep::detail::assertion_failed(#condition, __FILE__, __LINE__))
#else
#  define SUPERSTEP_ASSERT(condition) static_cast<void>(sizeof((condition) ? 1 : 0))
#endif

namespace superstep::detail {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;
} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A bug in superstep itself: prints the place and aborts. On in every build but plain release,
/// where the expression is not evaluated. Never used for what a user can get wrong.
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

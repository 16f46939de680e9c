// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

namespace superstep::detail {

/// Whether an exception is an E, or of a class derived from E. False for null.
template <class E>
[[nodiscard]] bool holds(const std::exception_ptr& exception) noexcept {
  if (!exception)
    return false;
  try {
    std::rethrow_exception(exception);
  } catch (const E&) {
    return true;
  } catch (...) {
    return false;
  }
}

} // namespace superstep::detail

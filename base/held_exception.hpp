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

/// Calls a function for an exception and then for each exception nested in it, until the function
/// returns true. Exceptions that are not a std::exception end the search.
/// @return whether the function has returned true
template <class Visit>
bool visit_nested(const std::exception_ptr& exception, Visit visit) {
  constexpr auto depth_max = 16;
  auto at = exception;
  for (auto depth = 0; at && depth < depth_max; ++depth) {
    try {
      std::rethrow_exception(at);
    } catch (const std::exception& e) {
      if (visit(e))
        return true;
      const auto* nested = dynamic_cast<const std::nested_exception*>(&e);
      at = nested != nullptr ? nested->nested_ptr() : nullptr;
    } catch (...) {
      return false;
    }
  }
  return false;
}

} // namespace superstep::detail

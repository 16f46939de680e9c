// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

namespace superstep::detail {

/// A base of exceptions of bodies that end the run: the node is neither retried nor handled. For
/// work of the barrier that a body does, such as a call of a reducer in Python.
class final_failure {
public:
  virtual ~final_failure() = default;

protected:
  final_failure() = default;
  final_failure(const final_failure&) = default;
  final_failure& operator=(const final_failure&) = default;
};

/// Whether an exception is a final_failure. False for null.
[[nodiscard]] inline bool is_final_failure(const std::exception_ptr& cause) noexcept {
  if (!cause)
    return false;
  try {
    std::rethrow_exception(cause);
  } catch (const final_failure&) {
    return true;
  } catch (...) {
    return false;
  }
}

} // namespace superstep::detail

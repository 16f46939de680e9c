// SPDX-License-Identifier: Apache-2.0
#pragma once

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

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/batch/batch_options.hpp>

namespace superstep::detail {

/// Fails with errc::invalid_argument if an option of a job is missing or out of range, or if two
/// options contradict each other.
[[nodiscard]] result<void> check_options(const batch_options& options);

} // namespace superstep::detail

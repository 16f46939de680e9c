// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

namespace superstep {

/// Returns the limits of open files for programs: the current ones, with the soft limit from before
/// raise_descriptor_limit().
[[nodiscard]] rlimit descriptor_limit_of_programs() noexcept;

} // namespace superstep

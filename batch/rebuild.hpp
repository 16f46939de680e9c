// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job_files.hpp"

namespace superstep::detail {

/// Derives the journal from the output and the dead letters again, for when it is damaged, when
/// lines of the output were lost, or when failed rows are to run again.
///
/// Afterwards the output has one line per row that is done, and the dead letters those of its
/// failed rows and of bad lines. With `retries_dead` the rows whose fault may have been transient
/// (may_succeed_again) lose both lines and are not done. A line that is dropped for another reason
/// is kept in a copy of the old file.
///
/// A process may die at any point: the journal records the start and the end of a rebuild, and one
/// without its end is repeated.
[[nodiscard]] result<void> rebuild(job_files& files, bool retries_dead);

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job_files.hpp"

namespace superstep::detail {

/// Derives a new journal from the output and the dead letters. This is necessary if the journal is
/// damaged, if lines of the output were lost, or if failed rows are to run again.
///
/// Afterwards the output has one line per finished row, and the dead letters have one line per
/// failed row and per invalid input line. If the output or the dead letters contained lines that
/// the job did not write, a copy of the old file is kept.
///
/// The process may die at any point. The journal records the start and the end of a rebuild, and
/// the next run repeats an incomplete rebuild.
/// @param retries_dead whether the lines of failed rows that may succeed in another run
///   (may_succeed_again()) are dropped from both files, so that these rows run again
[[nodiscard]] result<void> rebuild(job_files& files, bool retries_dead);

} // namespace superstep::detail

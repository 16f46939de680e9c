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
/// @param retried rows whose lines are dropped from both files if they have failed and may succeed
///   in another run (may_succeed_again()), so that they run again; null for none
[[nodiscard]] result<void> rebuild(job_files& files,
                                   const boost::unordered_flat_set<key_digest>* retried);

} // namespace superstep::detail
